"""What kind of normal map this is: its axes and its camera, found out from the map itself."""
