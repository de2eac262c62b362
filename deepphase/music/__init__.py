"""What a song is to a dancer: its features at the rate of motion, its beats and its bars."""
