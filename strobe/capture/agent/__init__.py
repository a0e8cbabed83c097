"""Frida's agent in a process: the way in, the talk with it, the way out."""
