"""Many maps: tasks handed to the processes of this machine, or to a cluster."""
