"""What other engines load: ONNX files, checked against the network that they were made of."""
