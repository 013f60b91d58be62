"""Pictures as SVG, made of plain data and the templates in ``templates/pictures``: without a database or a request.

Every picture has a name and a description for screen readers, and the page that shows it has a table with the same
numbers. Presentation is by attributes and by the classes of the page's style sheet: a style attribute would be refused
by the Content-Security-Policy, and colours depend on whether the page is dark.
"""
