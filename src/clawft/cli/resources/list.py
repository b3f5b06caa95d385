"""`weft resources list`: what can be read, and the templates of more."""

from __future__ import annotations

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_table, tell
from clawft.cli.screen.document import print_json
from clawft.cli.setup import show_with_app
from clawft.model import Resource, ResourceTemplate

Offered = tuple[list[Resource], list[ResourceTemplate]]


def run(options: Options) -> int:
    async def work(app: App) -> Offered:
        offered = app.gateway.resources
        return [each for _, each in offered.owned(app.caller)], list(offered.templates(app.caller))

    return show_with_app(options, work, lambda found: _print_list(*found, options), look=True)


def _print_list(resources: list[Resource], templates: list[ResourceTemplate], options: Options) -> int:
    if options.json:
        print_json({"resources": resources, "resourceTemplates": templates})
    elif not resources and not templates:
        tell("no resources")
    else:
        print_table(("URI", "TYPE", "NAME"), [*map(_row, resources), *map(_template_row, templates)])
    return 0


def _row(resource: Resource) -> tuple[str, str, str]:
    return one_line(resource.uri), resource.mime_type or "", one_line(resource.title or resource.name)


def _template_row(template: ResourceTemplate) -> tuple[str, str, str]:
    description = template.description or template.title or template.name
    return one_line(template.uri_template), template.mime_type or "", one_line(f"template: {description}")
