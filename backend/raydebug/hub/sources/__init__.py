"""Sources bring facts in from the cluster and hand them to the model."""
