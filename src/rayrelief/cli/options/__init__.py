"""Options of the verbs: in groups, those of the methods read off the recipes."""
