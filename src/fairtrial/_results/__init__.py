"""What every method returns, and how it is shown: text, frame, chart, HTML, JSON, masked for publishing."""
