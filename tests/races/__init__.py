"""Races, without luck: a request is paused at each of its statements while others run, and the end must be that of
some order of them, one after the other."""
