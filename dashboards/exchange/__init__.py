"""SLO definitions for other tools, and from them: OpenSLO, Sloth, Pyrra."""
