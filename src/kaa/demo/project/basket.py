def total(price, shipping):
    return pirce + shipping
