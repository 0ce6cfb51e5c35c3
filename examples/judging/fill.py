"""What two people would write into their sheets, so that the example has an end."""

import csv
import sys
from pathlib import Path

OPINIONS = {
    "ann": {"cable": "320210", "lamp": "331020", "mug": "321300"},
    "bob": {"cable": "321310", "lamp": "331020", "mug": "321201"},
}


def grade(rater: str, document: str) -> str:
    """The grade that a rater gives a document, such as the second digit for lamp-2."""
    kind, number = document.split("-")
    return OPINIONS[rater][kind][int(number) - 1]


def main() -> int:
    """Fill every sheet of the folder ``sheets``."""
    for sheet in Path("sheets").glob("*.csv"):
        with sheet.open(newline="", encoding="utf-8-sig") as source:
            rows = list(csv.DictReader(source))
        for row in rows:
            row["grade"] = grade(sheet.stem, row["document"])
        with sheet.open("w", newline="", encoding="utf-8") as target:
            writer = csv.DictWriter(target, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
