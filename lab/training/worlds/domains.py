"""What the worlds know: kinds of things, what can be asked about each, and how one thing leads to another."""

from __future__ import annotations

from training.worlds import words as w
from training.worlds.kinds import Attribute, Kind, amount, one_of, whole
from training.worlds.more_domains import MORE

A = Attribute
SUBJECTS = ("pottery", "statistics", "Danish", "welding", "chemistry", "sailing", "law", "logic")
DISHES = ("lentil soup", "aubergine", "noodles", "trout", "rice", "pumpkin pie", "bean stew")
PLANTS = ("lavender", "ivy", "iris", "sage", "poppy", "juniper")
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "product",
            lambda r: r.choice(w.PRODUCTS),
            ("product", "item", "name", "product_name", "article"),
            (
                A("price", "euros", amount(3, 900), ("Preis", "prix", "precio")),
                A("weight", "kg", amount(0.2, 40, 1), ("Gewicht", "poids", "peso")),
                A("stock", "pieces", whole(0, 400), ("Bestand", "stock", "existencias")),
                A("warranty", "months", whole(6, 60), ("Garantie", "garantie", "garantía")),
                A(
                    "colour",
                    "",
                    one_of("black", "white", "red", "green", "beige", "navy"),
                    ("Farbe", "couleur", "color"),
                ),
                A("shelf", "", lambda r: f"{r.choice('ABCDEFGH')}{r.randint(1, 40)}"),
            ),
            (("supplier", "company"), ("warehouse", "warehouse")),
        ),
        Kind(
            "company",
            lambda r: w.named(r) + r.choice((" Ltd", " GmbH", " SA", " Trading", " Works")),
            ("company", "name", "company_name", "firm"),
            (
                A("revenue", "million euros", amount(0.5, 900, 1), ("Umsatz", "chiffre d'affaires", "facturación")),
                A("headcount", "employees", whole(4, 9000), ("Mitarbeiterzahl", "effectif", "plantilla")),
                A("founding year", "", whole(1880, 2024), ("Gründungsjahr", "année de fondation", "año de fundación")),
                A("contact address", "", w.email),
                A("share price", "dollars", amount(2, 700), ("Aktienkurs", "cours de l'action", "cotización")),
            ),
            (("chief executive", "employee"), ("head office", "city")),
        ),
        Kind(
            "employee",
            w.person,
            ("employee", "name", "person", "employee_name", "full_name"),
            (
                A("salary", "euros", whole(2200, 9900), ("Gehalt", "salaire", "sueldo")),
                A("vacation balance", "days", whole(0, 40), ("Resturlaub", "solde de congés", "vacaciones restantes")),
                A("desk number", "", w.code("D", 3)),
                A("e-mail address", "", w.email),
                A("phone number", "", w.phone),
                A("start date", "", w.date),
            ),
            (("manager", "employee"), ("project", "project"), ("office", "room")),
        ),
        Kind(
            "project",
            w.named,
            ("project", "name", "project_name", "title"),
            (
                A("budget", "euros", whole(5000, 900000), ("Budget", "budget", "presupuesto")),
                A(
                    "hours booked",
                    "hours",
                    whole(10, 4000),
                    ("gebuchte Stunden", "heures saisies", "horas registradas"),
                ),
                A("deadline", "", w.date, ("Termin", "échéance", "plazo")),
                A("status", "", one_of("planned", "running", "on hold", "finished"), ("Status", "statut", "estado")),
            ),
            (("leader", "employee"), ("customer", "company")),
        ),
        Kind(
            "order",
            w.code("ORD", 5),
            ("order", "order_id", "id", "order_number"),
            (
                A("total", "euros", amount(10, 2000), ("Gesamtbetrag", "montant total", "importe total")),
                A("delivery date", "", w.date, ("Liefertermin", "date de livraison", "fecha de entrega")),
                A(
                    "status",
                    "",
                    one_of("packed", "shipped", "delivered", "cancelled", "waiting for payment"),
                    ("Status", "statut", "estado"),
                ),
            ),
            (("product", "product"), ("customer", "employee"), ("parcel", "parcel")),
        ),
        Kind(
            "parcel",
            w.code("PX", 6, dash=False),
            ("parcel", "tracking", "tracking_code", "code"),
            (
                A("weight", "kg", amount(0.1, 30, 1), ("Gewicht", "poids", "peso")),
                A("location", "", lambda r: r.choice(w.CITIES), ("Ort", "lieu", "lugar")),
            ),
            (("carrier", "company"),),
        ),
        Kind(
            "city",
            lambda r: r.choice(w.CITIES),
            ("city", "place", "location", "town", "city_name"),
            (
                A("temperature", "degrees", whole(-15, 38), ("Temperatur", "température", "temperatura")),
                A("population", "inhabitants", whole(20000, 3000000), ("Einwohnerzahl", "population", "población")),
                A("bus fare", "euros", amount(1, 5), ("Busfahrpreis", "prix du bus", "tarifa del autobús")),
                A(
                    "air quality index",
                    "points",
                    whole(5, 180),
                    ("Luftqualitätsindex", "indice de qualité de l'air", "índice de calidad del aire"),
                ),
                A("local time", "", w.clock, ("Ortszeit", "heure locale", "hora local")),
            ),
            (("mayor", "employee"), ("twin town", "city")),
        ),
        Kind(
            "flight",
            w.code("QV", 3, dash=False),
            ("flight", "flight_number", "number", "code"),
            (
                A("delay", "minutes", whole(0, 240), ("Verspätung", "retard", "retraso")),
                A("gate", "", lambda r: f"{r.choice('ABCDE')}{r.randint(1, 40)}", ("Flugsteig", "porte", "puerta")),
                A("fare", "euros", whole(39, 900), ("Flugpreis", "tarif", "tarifa")),
                A("departure time", "", w.clock, ("Abflugzeit", "heure de départ", "hora de salida")),
            ),
            (("destination", "city"), ("captain", "employee")),
        ),
        Kind(
            "train",
            w.code("IR", 4, dash=False),
            ("train", "train_number", "number"),
            (
                A("delay", "minutes", whole(0, 120), ("Verspätung", "retard", "retraso")),
                A("platform", "", whole(1, 18), ("Gleis", "voie", "andén")),
                A("duration", "minutes", whole(20, 400), ("Fahrzeit", "durée", "duración")),
            ),
            (("terminus", "city"),),
        ),
        Kind(
            "hotel",
            lambda r: "Hotel " + w.named(r),
            ("hotel", "name", "hotel_name"),
            (
                A("price per night", "euros", whole(40, 420), ("Preis pro Nacht", "prix par nuit", "precio por noche")),
                A("free rooms", "rooms", whole(0, 60), ("freie Zimmer", "chambres libres", "habitaciones libres")),
                A("rating", "points", amount(2, 5, 1), ("Bewertung", "note", "valoración")),
                A("phone number", "", w.phone),
            ),
            (("city", "city"), ("director", "employee")),
        ),
        Kind(
            "book",
            lambda r: f"The {w.named(r)}",
            ("book", "title", "book_title", "name"),
            (
                A("number of pages", "pages", whole(80, 1200), ("Seitenzahl", "nombre de pages", "número de páginas")),
                A(
                    "copies available",
                    "copies",
                    whole(0, 30),
                    ("verfügbare Exemplare", "exemplaires disponibles", "ejemplares disponibles"),
                ),
                A("return date", "", w.date, ("Rückgabedatum", "date de retour", "fecha de devolución")),
                A("call number", "", w.code("LB", 4)),
            ),
            (("author", "employee"), ("publisher", "company")),
        ),
        Kind(
            "room",
            lambda r: f"{r.choice(('room', 'hall', 'lab'))} {r.choice(w.NOUNS).title()}",
            ("room", "room_name", "name"),
            (
                A("capacity", "seats", whole(4, 300), ("Plätze", "capacité", "capacidad")),
                A("floor", "", whole(0, 12), ("Stockwerk", "étage", "planta")),
                A("size", "square metres", whole(9, 400), ("Größe", "surface", "superficie")),
                A(
                    "next free slot",
                    "",
                    w.clock,
                    ("nächster freier Termin", "prochain créneau libre", "próximo hueco libre"),
                ),
            ),
            (("caretaker", "employee"), ("building", "building")),
        ),
        Kind(
            "building",
            lambda r: f"{r.choice(w.NOUNS).title()} House",
            ("building", "name", "building_name"),
            (
                A("height", "metres", whole(8, 320), ("Höhe", "hauteur", "altura")),
                A(
                    "energy use",
                    "kilowatt-hours",
                    whole(900, 90000),
                    ("Energieverbrauch", "consommation d'énergie", "consumo de energía"),
                ),
                A(
                    "number of floors",
                    "floors",
                    whole(1, 60),
                    ("Zahl der Stockwerke", "nombre d'étages", "número de plantas"),
                ),
            ),
            (("owner", "company"), ("city", "city")),
        ),
        Kind(
            "vehicle",
            lambda r: f"{r.choice('BCDFGHKLM')}{r.choice('RSTVWXZ')}-{r.randint(100, 999)}",
            ("vehicle", "plate", "licence_plate", "car"),
            (
                A("mileage", "km", whole(500, 300000), ("Kilometerstand", "kilométrage", "kilometraje")),
                A("fuel level", "litres", whole(2, 80), ("Tankinhalt", "niveau de carburant", "nivel de combustible")),
                A("next inspection", "", w.date, ("nächste Inspektion", "prochain contrôle", "próxima inspección")),
                A(
                    "top speed",
                    "km per hour",
                    whole(90, 260),
                    ("Höchstgeschwindigkeit", "vitesse maximale", "velocidad máxima"),
                ),
            ),
            (("driver", "employee"), ("garage", "company")),
        ),
        Kind(
            "ship",
            lambda r: "MS " + w.named(r),
            ("ship", "vessel", "name", "ship_name"),
            (
                A("length", "metres", whole(20, 380), ("Länge", "longueur", "eslora")),
                A("cargo", "tonnes", whole(100, 90000), ("Ladung", "cargaison", "carga")),
                A("arrival", "", w.date, ("Ankunft", "arrivée", "llegada")),
            ),
            (("captain", "employee"), ("next port", "city"), ("operator", "company")),
        ),
        Kind(
            "course",
            lambda r: f"{r.choice(('Introduction to', 'Advanced', 'Practical'))} {r.choice(SUBJECTS)}",
            ("course", "title", "course_name"),
            (
                A("fee", "euros", whole(20, 1500), ("Kursgebühr", "frais d'inscription", "matrícula")),
                A("enrolment", "participants", whole(3, 400), ("Teilnehmerzahl", "nombre d'inscrits", "inscritos")),
                A("start date", "", w.date, ("Beginn", "date de début", "fecha de inicio")),
            ),
            (("teacher", "employee"), ("room", "room")),
        ),
        Kind(
            "song",
            lambda r: f"{r.choice(w.NOUNS).title()} in the {r.choice(w.NOUNS).title()}",
            ("song", "title", "track", "name"),
            (
                A("length", "seconds", whole(90, 600), ("Länge", "durée", "duración")),
                A("plays", "plays", whole(100, 9000000), ("Aufrufe", "écoutes", "reproducciones")),
                A("release year", "", whole(1960, 2026), ("Erscheinungsjahr", "année de sortie", "año de publicación")),
            ),
            (("singer", "employee"), ("label", "company")),
        ),
        Kind(
            "recipe",
            lambda r: f"{r.choice(('baked', 'spicy', 'cold', 'grilled', 'creamy'))} {r.choice(DISHES)}",
            ("recipe", "dish", "name"),
            (
                A("cooking time", "minutes", whole(5, 180), ("Kochzeit", "temps de cuisson", "tiempo de cocción")),
                A("calories", "kcal", whole(80, 1400), ("Kalorien", "calories", "calorías")),
                A("servings", "portions", whole(1, 12), ("Portionen", "portions", "raciones")),
            ),
            (("main ingredient", "product"),),
        ),
        Kind(
            "account",
            w.code("AC", 6, dash=False),
            ("account", "account_number", "iban", "id"),
            (
                A("balance", "euros", amount(-400, 20000), ("Kontostand", "solde", "saldo")),
                A("interest rate", "percent", amount(0.1, 6, 2), ("Zinssatz", "taux d'intérêt", "tipo de interés")),
                A("credit limit", "euros", whole(0, 9000), ("Kreditrahmen", "plafond de crédit", "límite de crédito")),
            ),
            (("holder", "employee"),),
        ),
        Kind(
            "server",
            lambda r: f"{r.choice(('db', 'web', 'mail', 'build', 'cache'))}-{r.randint(1, 60):02d}",
            ("server", "host", "hostname", "machine"),
            (
                A("memory use", "GB", amount(1, 250, 1), ("Speicherbelegung", "mémoire utilisée", "memoria usada")),
                A("uptime", "days", whole(0, 900), ("Laufzeit", "durée de fonctionnement", "tiempo activo")),
                A("open alerts", "alerts", whole(0, 40), ("offene Meldungen", "alertes ouvertes", "alertas abiertas")),
                A("version", "", lambda r: f"{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}"),
            ),
            (("administrator", "employee"), ("data centre", "building")),
        ),
        Kind(
            "plant",
            lambda r: f"{r.choice(('dwarf', 'common', 'climbing', 'alpine'))} {r.choice(PLANTS)}",
            ("plant", "species", "name"),
            (
                A("height", "cm", whole(5, 400), ("Wuchshöhe", "hauteur", "altura")),
                A("water need", "litres", amount(0.1, 6, 1), ("Wasserbedarf", "besoin en eau", "necesidad de agua")),
            ),
            (("nursery", "company"),),
        ),
        Kind(
            "match",
            w.code("M", 4),
            ("match", "match_id", "game"),
            (
                A("attendance", "spectators", whole(100, 80000), ("Zuschauerzahl", "affluence", "asistencia")),
                A("score", "", lambda r: f"{r.randint(0, 6)}:{r.randint(0, 6)}", ("Spielstand", "score", "marcador")),
            ),
            (("venue", "city"), ("referee", "employee")),
        ),
        Kind(
            "warehouse",
            lambda r: f"depot {r.choice(w.ADJECTIVES)}",
            ("warehouse", "depot", "site", "name"),
            (
                A(
                    "free space",
                    "square metres",
                    whole(10, 9000),
                    ("freie Fläche", "surface libre", "superficie libre"),
                ),
                A("rent", "euros", whole(400, 20000), ("Miete", "loyer", "alquiler")),
            ),
            (("foreman", "employee"), ("city", "city")),
        ),
        *MORE,
    )
}


def attribute_named(kind: str, name: str) -> Attribute:
    return next(attribute for attribute in KINDS[kind].attributes if attribute.name == name)
