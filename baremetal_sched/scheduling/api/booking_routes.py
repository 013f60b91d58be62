"""The routes of bookings."""

from baremetal_sched.errors.compute import (
    FlavorNotFound,
    InvalidExtraSpec,
    NothingRequested,
    TraitConflict,
)
from baremetal_sched.errors.image import ImageNotFound, InvalidImageProperty
from baremetal_sched.errors.placement import BadQuery, SearchTookTooLong, TooManyCandidates
from baremetal_sched.errors.scheduling import (
    BookingDiffers,
    BookingInUse,
    BookingIsOver,
    BookingLimit,
    BookingNotFound,
    BookingsNotServed,
    CannotWait,
    MachinesShare,
    NotBookable,
)
from baremetal_sched.scheduling.api import bookings
from baremetal_sched.scheduling.api.policies import BOOK, GET_BOOKING
from baremetal_sched.scheduling.schemas.bookings import ANY_BOOKING, CHANGED_BOOKING
from baremetal_sched.web.http_errors import Statuses
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

#: Errors of bodies that ask for machines: of flavors and images, and of the search.
FLAVORS = (FlavorNotFound, ImageNotFound, InvalidExtraSpec, InvalidImageProperty, NothingRequested, TraitConflict)
SEARCHING = (BadQuery, SearchTookTooLong, TooManyCandidates)
#: The path is there; what the body names is not.
OF_THE_BODY: Statuses = {FlavorNotFound: 400, ImageNotFound: 400}

_BOOKING = (NotBookable, BookingLimit, BookingsNotServed, CannotWait, MachinesShare)

BOOKING_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/bookings",
        bookings.list_bookings,
        policy=GET_BOOKING,
        operation=Operation("list_bookings", "List bookings", "Bookings", bookings.PARAMETERS),
    ),
    Route(
        "POST",
        "/v1/bookings",
        bookings.create_booking,
        transaction=None,
        policy=BOOK,
        takes=(JSON,),
        refuses_query=True,
        statuses=OF_THE_BODY,
        operation=Operation(
            "create_booking",
            "Book machines for later",
            "Booking",
            body=ANY_BOOKING,
            done={200: "The same body has been sent before, and its booking is over.", 201: "Machines are booked."},
        ),
        errors=(BookingDiffers, *_BOOKING, *FLAVORS, *SEARCHING),
    ),
    Route(
        "GET",
        "/v1/bookings/<booking>",
        bookings.show_booking,
        policy=GET_BOOKING,
        refuses_query=True,
        operation=Operation("show_booking", "Show a booking", "Booking"),
        errors=(BookingNotFound,),
    ),
    Route(
        "PATCH",
        "/v1/bookings/<booking>",
        bookings.change_booking,
        transaction=None,
        policy=GET_BOOKING,
        takes=(JSON,),
        refuses_query=True,
        operation=Operation("change_booking", "Change a booking", "Booking", body=CHANGED_BOOKING.schema),
        errors=(BookingNotFound, BookingIsOver, BookingInUse, *_BOOKING, *SEARCHING),
    ),
    Route(
        "DELETE",
        "/v1/bookings/<booking>",
        bookings.delete_booking,
        transaction="write",
        policy=GET_BOOKING,
        operation=Operation("delete_booking", "Cancel a booking", None, bookings.CANCELLING),
        errors=(BookingNotFound, BookingInUse),
    ),
)
