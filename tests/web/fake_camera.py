"""A camera for Chromium that shows one picture, changed while it runs; written without any video tool."""

from pathlib import Path

import qrcode
from PIL import Image
from qrcode.constants import ERROR_CORRECT_M

WIDTH, HEIGHT = 1280, 720
HEADER = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F15:1 Ip A1:1 C420jpeg\n".encode()


class FakeCamera:
    """A video file of one frame. Chromium loops it and sees a change made in place within a frame or two."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_bytes(HEADER + b"FRAME\n" + b"\x80" * (WIDTH * HEIGHT * 3 // 2))

    @property
    def launch_args(self) -> list[str]:
        """What Chromium must be started with."""
        return ["--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={self.path}"]

    def show(self, *texts: str) -> None:
        """Hold up the QR codes of `texts`, side by side in the middle of the picture."""
        picture = Image.new("L", (WIDTH, HEIGHT), 150)
        codes = [_code(text, 300 if len(texts) > 1 else 460) for text in texts]
        left = (WIDTH - sum(code.width for code in codes) - 24 * (len(codes) - 1)) // 2
        for code in codes:
            picture.paste(code, (left, (HEIGHT - code.height) // 2))
            left += code.width + 24
        self._write(picture)

    def hide(self) -> None:
        """Nothing before the lens."""
        self._write(Image.new("L", (WIDTH, HEIGHT), 128))

    def _write(self, picture: Image.Image) -> None:
        # in place: a file put in its stead would be seen by the next stream only
        with self.path.open("r+b") as file:
            file.seek(len(HEADER) + len(b"FRAME\n"))
            file.write(picture.tobytes())


def _code(text: str, side: int) -> Image.Image:
    code = qrcode.QRCode(error_correction=ERROR_CORRECT_M, border=4)
    code.add_data(text)
    code.make()
    modules = code.make_image().get_image().convert("L")
    scale = max(1, side // (code.modules_count + 8))
    size = (code.modules_count + 8) * scale
    return modules.resize((size, size), Image.Resampling.NEAREST)
