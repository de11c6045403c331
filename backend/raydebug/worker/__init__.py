"""The client library, inside user processes: it never blocks, raises, grows or prints into training."""
