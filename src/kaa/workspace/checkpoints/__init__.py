"""What files looked like before and after each turn, kept outside the project, so that they can be put back."""
