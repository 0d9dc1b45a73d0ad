"""More kinds of things: from farms and museums to satellites and lawsuits."""

from __future__ import annotations

from training.worlds import words as w
from training.worlds.kinds import Attribute as A
from training.worlds.kinds import Kind, amount, one_of, whole

CROPS = ("barley", "flax", "hops", "lucerne", "millet", "rapeseed")
WORKS = ("amphora", "tapestry", "sundial", "astrolabe", "mosaic", "lute", "globe")
MORE: tuple[Kind, ...] = (
    Kind(
        "sensor",
        w.code("SN", 4),
        ("sensor", "sensor_id", "device", "probe"),
        (
            A("humidity", "percent", whole(8, 99), ("Luftfeuchtigkeit", "humidité", "humedad")),
            A("pressure", "hectopascal", whole(960, 1050), ("Druck", "pression", "presión")),
            A("battery level", "percent", whole(1, 100), ("Ladestand", "niveau de batterie", "nivel de batería")),
            A("last reading", "", w.clock),
        ),
        (("site", "building"), ("technician", "employee")),
    ),
    Kind(
        "invoice",
        w.code("INV", 6),
        ("invoice", "invoice_number", "invoice_id", "number"),
        (
            A("amount due", "euros", amount(12, 9000), ("offener Betrag", "montant dû", "importe pendiente")),
            A("due date", "", w.date, ("Fälligkeit", "échéance", "vencimiento")),
            A("tax", "euros", amount(1, 1500), ("Steuer", "taxe", "impuesto")),
            A("payment state", "", one_of("open", "paid", "overdue", "partly paid")),
        ),
        (("customer", "company"), ("clerk", "employee")),
    ),
    Kind(
        "museum piece",
        lambda r: f"{r.choice(w.ADJECTIVES)} {r.choice(WORKS)}",
        ("piece", "object", "exhibit", "title"),
        (
            A(
                "insured value",
                "dollars",
                whole(900, 900000),
                ("Versicherungswert", "valeur assurée", "valor asegurado"),
            ),
            A("age", "years", whole(60, 3200), ("Alter", "âge", "antigüedad")),
            A("inventory number", "", w.code("EX", 5)),
        ),
        (("gallery", "room"), ("lender", "company")),
    ),
    Kind(
        "satellite",
        lambda r: f"{r.choice(w.NOUNS).title()}-{r.randint(1, 9)}{r.choice('ABC')}",
        ("satellite", "name", "craft"),
        (
            A("altitude", "km", whole(300, 36000), ("Höhe", "altitude", "altitud")),
            A("orbital period", "minutes", whole(88, 1440), ("Umlaufzeit", "période orbitale", "periodo orbital")),
            A("launch date", "", w.date, ("Startdatum", "date de lancement", "fecha de lanzamiento")),
        ),
        (("operator", "company"), ("ground station", "city")),
    ),
    Kind(
        "lawsuit",
        lambda r: f"{r.randint(1, 30)} O {r.randint(10, 999)}/{r.randint(20, 26)}",
        ("case", "docket", "file_number", "case_number"),
        (
            A("amount in dispute", "euros", whole(500, 400000), ("Streitwert", "montant du litige", "cuantía")),
            A("hearing date", "", w.date, ("Verhandlungstermin", "date d'audience", "fecha de la vista")),
            A("stage", "", one_of("filed", "in evidence", "decided", "appealed", "settled")),
        ),
        (("judge", "employee"), ("plaintiff", "company"), ("courtroom", "room")),
    ),
    Kind(
        "field",
        lambda r: f"{r.choice(w.ADJECTIVES)} {r.choice(CROPS)} field",
        ("field", "plot", "name"),
        (
            A("area", "hectares", amount(0.5, 90, 1), ("Fläche", "superficie", "superficie")),
            A("yield", "tonnes", amount(1, 600, 1), ("Ertrag", "rendement", "cosecha")),
            A("soil moisture", "percent", whole(4, 70), ("Bodenfeuchte", "humidité du sol", "humedad del suelo")),
        ),
        (("farmer", "employee"), ("nearest town", "city")),
    ),
    Kind(
        "film",
        lambda r: (
            f"{r.choice(('Night of the', 'Return to', 'Beyond the', 'Letters from'))} {r.choice(w.NOUNS).title()}"
        ),
        ("film", "movie", "title", "name"),
        (
            A("running time", "minutes", whole(62, 220), ("Laufzeit", "durée", "duración")),
            A("box office", "million dollars", amount(0.1, 900, 1), ("Einspielergebnis", "recettes", "recaudación")),
            A("release date", "", w.date, ("Kinostart", "date de sortie", "estreno")),
        ),
        (("director", "employee"), ("studio", "company"), ("location", "city")),
    ),
    Kind(
        "bridge",
        lambda r: f"{r.choice(w.LAST)} Bridge",
        ("bridge", "name", "structure"),
        (
            A("span", "metres", whole(20, 1900), ("Spannweite", "portée", "luz")),
            A("daily traffic", "vehicles", whole(90, 90000), ("Tagesverkehr", "trafic quotidien", "tráfico diario")),
            A("load limit", "tonnes", whole(3, 60), ("Traglast", "charge limite", "carga límite")),
        ),
        (("city", "city"), ("engineer", "employee")),
    ),
    Kind(
        "robot",
        lambda r: f"{r.choice(('RB', 'KX', 'ARM'))}-{r.randint(10, 99)}",
        ("robot", "unit", "robot_id", "serial"),
        (
            A("cycle time", "seconds", amount(2, 90, 1), ("Taktzeit", "temps de cycle", "tiempo de ciclo")),
            A("parts today", "parts", whole(0, 4000), ("Teile heute", "pièces du jour", "piezas de hoy")),
            A("error code", "", w.code("E", 3)),
            A("torque", "newton metres", whole(5, 400), ("Drehmoment", "couple", "par motor")),
        ),
        (("hall", "room"), ("maker", "company")),
    ),
    Kind(
        "subscription",
        w.code("SUB", 5),
        ("subscription", "plan_id", "contract", "id"),
        (
            A("monthly fee", "euros", amount(2, 120), ("Monatspreis", "prix mensuel", "cuota mensual")),
            A("renewal date", "", w.date, ("Verlängerungsdatum", "date de renouvellement", "fecha de renovación")),
            A("data volume", "GB", whole(1, 400), ("Datenvolumen", "volume de données", "volumen de datos")),
        ),
        (("subscriber", "employee"), ("provider", "company")),
    ),
    Kind(
        "trail",
        lambda r: f"{r.choice(w.NOUNS).title()} Trail",
        ("trail", "route", "path_name", "name"),
        (
            A("distance", "km", amount(1, 60, 1), ("Länge", "longueur", "longitud")),
            A("climb", "metres", whole(10, 2400), ("Anstieg", "dénivelé", "desnivel")),
            A("difficulty", "", one_of("easy", "moderate", "hard", "experts only")),
        ),
        (("trailhead", "city"), ("ranger", "employee")),
    ),
    Kind(
        "animal",
        lambda r: f"{r.choice(w.FIRST)} the {r.choice(('otter', 'tapir', 'lynx', 'goat', 'heron', 'tortoise'))}",
        ("animal", "name", "animal_name"),
        (
            A("body weight", "kg", amount(0.4, 400, 1), ("Körpergewicht", "poids", "peso")),
            A("daily ration", "kg", amount(0.1, 20, 1), ("Tagesration", "ration quotidienne", "ración diaria")),
            A("date of birth", "", w.date, ("Geburtsdatum", "date de naissance", "fecha de nacimiento")),
        ),
        (("keeper", "employee"), ("enclosure", "building")),
    ),
    Kind(
        "power plant",
        lambda r: f"{r.choice(w.NOUNS).title()} {r.choice(('Wind Park', 'Solar Field', 'Dam'))}",
        ("plant", "site", "name", "facility"),
        (
            A("output", "megawatts", amount(0.2, 900, 1), ("Leistung", "puissance", "potencia")),
            A("outages", "outages", whole(0, 30), ("Ausfälle", "pannes", "averías")),
        ),
        (("owner", "company"), ("nearest city", "city")),
    ),
    Kind(
        "dataset",
        lambda r: f"{r.choice(w.NOUNS)}_{r.choice(('2023', '2024', '2025', 'weekly', 'daily', 'raw'))}",
        ("dataset", "table", "table_name", "name"),
        (
            A("row count", "rows", whole(10, 9000000), ("Zeilenzahl", "nombre de lignes", "número de filas")),
            A("size", "MB", amount(0.1, 90000, 1), ("Größe", "taille", "tamaño")),
            A("last update", "", w.date, ("letzte Aktualisierung", "dernière mise à jour", "última actualización")),
        ),
        (("owner", "employee"), ("host", "server")),
    ),
)
