"""Tables, documents, sheets and classes, each format in its module; cells that are guarded."""
