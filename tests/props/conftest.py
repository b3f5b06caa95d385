"""Generated examples take their time on a busy machine; the time bound of the test itself holds."""

from hypothesis import settings

settings.register_profile("calm", deadline=None)
settings.load_profile("calm")
