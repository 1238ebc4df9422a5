"""The process in which a thing is measured: bare inserts (`floor`), this project (`ours`), or call4agents 0.5.0 (`peer`).

It imports the standard library and its own subject only, for the peer has an environment of its own.
"""
