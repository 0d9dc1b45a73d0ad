"""The animal clinic: patients, owners, appointments, doctors, medicines and opening hours. All of it is made up.

treadle eval lab/evals/clinic.jsonl --tools lab/evals/worlds/clinic.py:tools --tools calculator
"""

from __future__ import annotations

from world_kit import row, second_time

from treadle import Tool, tool

PATIENTS = {
    "Biscuit": ("dog", 12.5, "Hanna Voss", "Artrolin"),
    "Pepper": ("cat", 4.0, "Tom Abel", "Felitan"),
    "Hazel": ("rabbit", 1.9, "Mira Stahl", "Pulvexin"),
    "Mango": ("parrot", 0.4, "Igor Lund", "Calmera"),
    "Rusty": ("dog", 27.5, "Leo Marek", "Otomil"),
    "Nala": ("cat", 7.0, "Vera Quist", "Artrolin"),
}
"""Name: kind of animal, weight in kilograms, owner, medicine."""

OWNERS = {
    "Hanna Voss": (77140, "Ashford"),
    "Tom Abel": (77263, "Millbrook"),
    "Mira Stahl": (77318, "Ashford"),
    "Igor Lund": (77455, "Norrby"),
    "Leo Marek": (77592, "Millbrook"),
    "Vera Quist": (77681, "Oakham"),
}
"""Name: phone number, town."""

APPOINTMENTS = {
    "Biscuit": ("Tuesday", "10:20", "Karl Ostrow"),
    "Pepper": ("Monday", "08:50", "Ines Falk"),
    "Hazel": ("Thursday", "11:30", "Petra Lind"),
    "Mango": ("Wednesday", "09:40", "Samir Haddad"),
    "Rusty": ("Friday", "11:10", "Petra Lind"),
    "Nala": ("Monday", "10:05", "Karl Ostrow"),
}
"""Name of the patient: day, time, doctor."""

DOCTORS = {
    "Karl Ostrow": ("teeth", 4),
    "Ines Falk": ("eyes", 2),
    "Petra Lind": ("skin", 6),
    "Samir Haddad": ("birds", 9),
}
"""Name: special field, room."""

MEDICINES = {
    "Artrolin": (32.00, 40, "B1"),
    "Felitan": (14.50, 20, "A3"),
    "Pulvexin": (21.75, 30, "C2"),
    "Calmera": (9.80, 24, "A1"),
    "Otomil": (18.90, 12, "B4"),
}
"""Name: euros a pack, tablets in a pack, shelf."""

HOURS = {
    "Monday": "open from 08:00 to 18:00",
    "Tuesday": "open from 09:00 to 17:00",
    "Wednesday": "open from 08:15 to 12:00",
    "Thursday": "open from 10:00 to 19:00",
    "Friday": "open from 08:30 to 16:30",
    "Saturday": "open from 09:30 to 12:45",
    "Sunday": "closed all day",
}

SAMPLES = {
    "S-210": "blood, all values are normal",
    "S-224": "blood, there is too little iron",
    "S-231": "swab from the ear, there is yeast in it",
}


@tool(effect="pure")
def patient_record(name: str) -> str:
    """Look up an animal that is a patient: its kind, its weight in kilograms, its owner and its medicine.

    Args:
        name: the name of the animal, such as "Mango"
    """
    kind, weight, owner, medicine = row(PATIENTS, name, "patient")
    return f"{name.strip()}: {kind}, weight {weight:g} kg, owner {owner}, takes {medicine}"


@tool(effect="pure")
def owner_contact(name: str) -> str:
    """Look up the owner of an animal: phone number and town.

    Args:
        name: first and last name of the owner, such as "Mira Stahl"
    """
    phone, town = row(OWNERS, name, "owner")
    return f"{name.strip()}: phone {phone}, lives in {town}"


@tool(effect="pure")
def next_appointment(patient: str) -> str:
    """Tell when a patient has the next appointment, and with which doctor.

    Args:
        patient: the name of the animal
    """
    day, time, doctor = row(APPOINTMENTS, patient, "patient")
    return f"{day} at {time}, doctor: {doctor}"


@tool(effect="pure")
def doctor_info(name: str) -> str:
    """Look up a doctor of the clinic: special field and room.

    Args:
        name: the name of the doctor, such as "Samir Haddad"
    """
    field, room = row(DOCTORS, name, "doctor")
    return f"{name.strip()}: special field {field}, room {room}"


@tool(effect="pure")
def medicine_info(name: str) -> str:
    """Look up a medicine: its price in euros, how many tablets are in a pack, and its shelf.

    Args:
        name: the name of the medicine, such as "Artrolin"
    """
    price, tablets, shelf = row(MEDICINES, name, "medicine")
    return f"{name.strip()}: {price:.2f} EUR a pack, {tablets} tablets in a pack, shelf {shelf}"


@tool(effect="pure")
def opening_hours(day: str) -> str:
    """Tell when the clinic opens and closes on one day.

    Args:
        day: the day of the week, such as "Monday"
    """
    return row(HOURS, day, "day")


def make_lab_result() -> Tool:
    tried: set[str] = set()

    @tool(effect="idempotent")
    def lab_result(sample: str) -> str:
        """Tell what the laboratory found in a sample.

        Args:
            sample: the number of the sample, such as S-224
        """
        return second_time(tried, SAMPLES, sample, "sample", "the laboratory cannot be reached right now")

    return lab_result


def tools() -> list[Tool]:
    return [
        patient_record,
        owner_contact,
        next_appointment,
        doctor_info,
        medicine_info,
        opening_hours,
        make_lab_result(),
    ]
