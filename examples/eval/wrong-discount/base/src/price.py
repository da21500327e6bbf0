def price(amount, member):
    """Members pay ten percent less."""
    if member:
        return amount * 90 // 100
    return amount
