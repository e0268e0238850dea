"""What a person sees of a task: its record, what it waits for, its history in words. Pure, like the core."""
