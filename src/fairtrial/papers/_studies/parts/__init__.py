"""Parts of the studies: data, designs, tables and drawings."""
