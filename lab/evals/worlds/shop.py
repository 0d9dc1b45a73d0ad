"""The shop: products, stock, shipping and currencies.

treadle eval lab/evals/shop.jsonl --tools lab/evals/worlds/shop.py:tools --tools calculator
"""

from __future__ import annotations

from world_kit import convert_units, make_order_status, number, row

from treadle import Tool, ToolError, tool

PRODUCTS = {
    "kettle": ("K-100", 34.90, 1.2, "blue"),
    "desk lamp": ("L-205", 59.00, 2.5, "black"),
    "office chair": ("C-310", 189.00, 14.0, "grey"),
    "notebook": ("N-012", 4.50, 0.3, "red"),
    "backpack": ("B-077", 79.95, 0.9, "green"),
    "umbrella": ("U-441", 24.00, 0.6, "yellow"),
    "wall clock": ("W-560", 42.00, 1.8, "white"),
    "toaster": ("T-118", 48.50, 1.6, "silver"),
}
"""Name: SKU, price in euros, weight in kilograms, colour."""

STOCK = {"K-100": 17, "L-205": 0, "C-310": 6, "N-012": 240, "B-077": 3, "U-441": 58, "W-560": 11, "T-118": 29}

SHIPPING = {
    "Germany": (4.00, 0.50),
    "France": (6.00, 1.00),
    "Norway": (11.00, 2.00),
    "Japan": (25.00, 5.50),
    "Brazil": (22.00, 6.00),
}
"""Country: fixed part in euros, euros per kilogram."""

EUROS = {"EUR": 1.0, "USD": 0.8, "GBP": 1.25, "JPY": 0.005, "CHF": 1.1, "SEK": 0.08}
"""What one unit is worth in euros."""


@tool(effect="pure")
def product_info(name: str) -> str:
    """Look up a product of the shop: its number (SKU), price in euros, weight in kilograms and colour.

    Args:
        name: the name of the product, such as "desk lamp"
    """
    sku, price, weight, colour = row(PRODUCTS, name, "product")
    return f"{name.strip().lower()}: SKU {sku}, price {price:.2f} EUR, weight {weight:g} kg, colour {colour}"


@tool(effect="pure")
def stock_level(sku: str) -> str:
    """Tell how many pieces of a product are in stock.

    Args:
        sku: the product number, such as "K-100"
    """
    return f"{row(STOCK, sku, 'SKU')} pieces of {sku.strip().upper()} in stock"


@tool(effect="pure")
def shipping_cost(weight_kg: float, country: str) -> str:
    """Tell what it costs in euros to ship a parcel.

    Args:
        weight_kg: the weight of the parcel in kilograms
        country: the country it goes to
    """
    base, per_kg = row(SHIPPING, country, "country")
    if not 0 < weight_kg <= 30:
        raise ToolError("a parcel weighs more than 0 and at most 30 kg")
    return f"{base + per_kg * weight_kg:.2f} EUR"


@tool(effect="pure")
def exchange_rate(source: str, target: str) -> str:
    """Tell how much one unit of a currency is worth in another.

    Args:
        source: code of the currency to change from, such as EUR
        target: code of the currency to change into, such as USD
    """
    worth = row(EUROS, source, "currency") / row(EUROS, target, "currency")
    return f"1 {source.strip().upper()} = {number(worth)} {target.strip().upper()}"


@tool(effect="pure")
def old_price_list(name: str) -> str:
    """Tell the price of a product.

    Args:
        name: the name of the product
    """
    raise ToolError("the old price list was switched off: use product_info instead")


def tools() -> list[Tool]:
    return [
        product_info,
        stock_level,
        shipping_cost,
        exchange_rate,
        convert_units,
        old_price_list,
        make_order_status(),
    ]
