"""The truth board: whole audits of worlds whose truth is known, and what the product claimed about them."""
