"""Read one text: words, sentences, density, orders, invisible characters."""
