"""What the tests, the board and the side trees use of web beside the public names."""

from fairtrial.web import app as app
from fairtrial.web import look as look
from fairtrial.web import views as views
from fairtrial.web.app import Unreadable as Unreadable
from fairtrial.web.app import create_app as create_app
from fairtrial.web.app import receive as receive
from fairtrial.web.connections import patient_protocol as patient_protocol
from fairtrial.web.explore import Asked as Asked
from fairtrial.web.explore import Explorer as Explorer
from fairtrial.web.guard import MOST_AT_ONCE as MOST_AT_ONCE
from fairtrial.web.look import LARGE as LARGE
from fairtrial.web.settings import MEGABYTE as MEGABYTE
from fairtrial.web.settings import Settings as Settings
from fairtrial.web.settings import check_open as check_open
from fairtrial.web.specs import EXPLORATORY as EXPLORATORY
from fairtrial.web.specs import MOST_JOBS as MOST_JOBS
from fairtrial.web.store import COPY as COPY
from fairtrial.web.store import Store as Store
from fairtrial.web.view_routes import marked_exploratory as marked_exploratory
from fairtrial.web.view_routes import on_dark as on_dark
