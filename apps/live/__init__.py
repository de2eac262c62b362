"""Page that steers characters in a browser, and the JavaScript runtime behind it."""
