"""What happens to a code between the printer or screen and the camera: one named step each, on a grey picture."""

import io

from PIL import Image, ImageDraw, ImageFilter, ImageOps


def to_side(image: Image.Image, pixels: int) -> Image.Image:
    return image.resize((pixels, pixels), Image.Resampling.BILINEAR)


def scaled(image: Image.Image, factor: float) -> Image.Image:
    return image.resize((round(image.width * factor), round(image.height * factor)), Image.Resampling.BILINEAR)


def blurred(image: Image.Image, sigma: float) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(sigma))


def faded(image: Image.Image, contrast: float) -> Image.Image:
    """Old thermal paper: black has become grey."""
    return image.point([int(255 - (255 - value) * contrast) for value in range(256)])


def compressed(image: Image.Image, quality: int) -> Image.Image:
    target = io.BytesIO()
    image.save(target, "JPEG", quality=quality)
    return Image.open(io.BytesIO(target.getvalue())).convert("L")


def turned(image: Image.Image, degrees: float) -> Image.Image:
    return image.rotate(degrees, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC)


def creased(image: Image.Image, share: float) -> Image.Image:
    """A white fold below the middle, as wide as that share of the side."""
    worn, top = image.copy(), int(image.height * 0.62)
    ImageDraw.Draw(worn).rectangle((0, top, worn.width, top + max(1, int(worn.height * share))), fill=255)
    return worn


def with_dead_columns(image: Image.Image, count: int) -> Image.Image:
    """Burnt dots of a print head: white stripes along the paper."""
    worn = image.copy()
    for number in range(count):
        x = int(worn.width * (number + 1) / (count + 1))
        ImageDraw.Draw(worn).line((x, 0, x, worn.height), fill=255, width=max(1, worn.width // 90))
    return worn


VARIANTS = {
    "clean": lambda image: image,
    "small": lambda image: to_side(image, 120),
    "soft phone photo": lambda image: compressed(blurred(to_side(image, 220), 1.0), 40),
    "faded": lambda image: faded(image, 0.5),
    "tilted": lambda image: turned(image, 12),
    "creased": lambda image: creased(image, 0.04),
    "two dead columns": lambda image: with_dead_columns(image, 2),
    "dark mode": ImageOps.invert,
}
