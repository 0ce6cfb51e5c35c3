"""What people and programs call: commands, the demo, assistants, other libraries."""
