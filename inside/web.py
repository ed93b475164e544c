"""What the tests, the board and the side trees use of web beside the public names."""

from fairtrial._web import app as app
from fairtrial._web import look as look
from fairtrial._web import views as views
from fairtrial._web.app import Unreadable as Unreadable
from fairtrial._web.app import create_app as create_app
from fairtrial._web.app import receive as receive
from fairtrial._web.explore import Asked as Asked
from fairtrial._web.explore import Explorer as Explorer
from fairtrial._web.guard import MOST_AT_ONCE as MOST_AT_ONCE
from fairtrial._web.guard import patient_protocol as patient_protocol
from fairtrial._web.look import LARGE as LARGE
from fairtrial._web.settings import MEGABYTE as MEGABYTE
from fairtrial._web.settings import Settings as Settings
from fairtrial._web.settings import check_open as check_open
from fairtrial._web.specs import EXPLORATORY as EXPLORATORY
from fairtrial._web.specs import MOST_JOBS as MOST_JOBS
from fairtrial._web.store import COPY as COPY
from fairtrial._web.store import Store as Store
from fairtrial._web.view_routes import marked_exploratory as marked_exploratory
from fairtrial._web.view_routes import on_dark as on_dark
