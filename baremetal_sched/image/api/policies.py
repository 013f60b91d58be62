"""The rules of the image API: Glance's names, checks, scopes and former checks, for the routes that are served here."""

from oslo_policy import policy

_ADMIN = "rule:context_is_admin"
_OWNER_READER = "(role:reader and project_id:%(project_id)s)"
_OWNER_MEMBER = "(role:member and project_id:%(project_id)s)"
_SEEN = (
    "(project_id:%(project_id)s or project_id:%(member_id)s or 'community':%(visibility)s or 'public':%(visibility)s "
    "or 'shared':%(visibility)s)"
)
_MEMBERSHIP = "role:reader and (project_id:%(project_id)s or project_id:%(member_id)s)"

IS_ADMIN = "context_is_admin"
DEFAULT = "default"

_REASON = "Rules with the roles reader and member have replaced rules that all users met."


def _rule(name: str, check: str, description: str, *, is_new: bool = False) -> policy.RuleDefault:
    """``is_new``: there was no other check before there were roles."""
    former = policy.DeprecatedRule(name, "rule:default", deprecated_reason=_REASON, deprecated_since="W")
    return policy.RuleDefault(
        name,
        check,
        description=description,
        scope_types=["project"],
        deprecated_rule=None if is_new else former,
    )


def _or_admin(check: str) -> str:
    return f"{_ADMIN} or {check}"


RULES = (
    policy.RuleDefault(
        DEFAULT,
        "",
        description="Everything without a rule of its own: anyone with a token",
        deprecated_rule=policy.DeprecatedRule(DEFAULT, _ADMIN, deprecated_reason=_REASON, deprecated_since="Ussuri"),
    ),
    policy.RuleDefault(IS_ADMIN, "role:admin", description="An administrator, who sees the images of every project"),
    _rule(
        "add_image",
        _or_admin("(role:member and project_id:%(project_id)s and project_id:%(owner)s)"),
        "Create an image",
    ),
    _rule("get_image", _or_admin(f"(role:reader and {_SEEN})"), "See an image"),
    _rule("get_images", _or_admin(_OWNER_READER), "List images"),
    _rule("modify_image", _or_admin(_OWNER_MEMBER), "Change an image, its tags and its data"),
    _rule("delete_image", _or_admin(_OWNER_MEMBER), "Delete an image"),
    _rule("publicize_image", _ADMIN, "Make an image public", is_new=True),
    _rule("communitize_image", _or_admin(_OWNER_MEMBER), "Make an image a community image"),
    _rule("download_image", _or_admin(f"(role:member and {_SEEN})"), "Download an image"),
    _rule("upload_image", _or_admin(_OWNER_MEMBER), "Upload the data of an image"),
    _rule("get_image_location", _or_admin(_OWNER_READER), "See where the data of an image are"),
    _rule("deactivate", _or_admin(_OWNER_MEMBER), "Deactivate an image"),
    _rule("reactivate", _or_admin(_OWNER_MEMBER), "Reactivate an image"),
    _rule("add_member", _or_admin(_OWNER_MEMBER), "Share an image with a project"),
    _rule("delete_member", _or_admin(_OWNER_MEMBER), "Stop sharing an image with a project"),
    _rule("get_member", _or_admin(_MEMBERSHIP), "See a project that an image is shared with"),
    _rule("get_members", _or_admin(_MEMBERSHIP), "List the projects that an image is shared with"),
    _rule(
        "modify_member", _or_admin("(role:member and project_id:%(member_id)s)"), "Accept or reject an image of another"
    ),
    _rule("tasks_api_access", _ADMIN, "List tasks", is_new=True),
)
