"""What a server offers: read item by item, kept between starts, known before it is up."""
