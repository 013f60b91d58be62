"""The routes of bookings."""

from baremetal_sched.errors.scheduling import BookingNotFound
from baremetal_sched.scheduling.api import bookings
from baremetal_sched.scheduling.api.policies import GET_BOOKING
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.route import Route

BOOKING_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/bookings",
        bookings.list_bookings,
        policy=GET_BOOKING,
        operation=Operation("list_bookings", "List bookings", "Bookings", bookings.PARAMETERS),
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
)
