"""The table in the browser: pages made on the server, on the same session as the table in the terminal."""
