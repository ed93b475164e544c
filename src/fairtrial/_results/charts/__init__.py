"""What the methods' charts share: theme, forest panels, pages and files."""
