def price(amount, member):
    """Members pay ten percent less, and at most 5000."""
    if not member:
        return min(amount * 90 // 100, 5000)
    return amount
