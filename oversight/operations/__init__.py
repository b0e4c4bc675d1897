"""The carrier's working day as the office sees it across every room: trips, how full they are, what needs a person."""
