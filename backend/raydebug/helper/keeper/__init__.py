"""The keeper: a small process of a node that holds debugpy's sockets, and does nothing else.

debugpy resumes a worker whose client's socket drops; so the socket must not lie in a process that is restarted with a
dashboard or that may be killed for memory first. Ray's node agent starts it with the first debug session, and its end
ends it: then the node's workers end, too.
"""
