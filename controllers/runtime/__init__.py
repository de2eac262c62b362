"""Controllers at run time: the state of characters, frame by frame."""
