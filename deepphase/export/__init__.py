"""Export of networks to ONNX, each checked against the network that it was made from."""
