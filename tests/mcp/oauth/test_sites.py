"""Hosts belong together if one owner has them."""

from kaa.mcp.oauth.sites import belong_together
from tests.support.tables import each


@each(
    ("one", "other"),
    [
        ("login.big.example", "api.big.example"),
        ("login.honest.workers.dev", "mcp.honest.workers.dev"),
        ("a.env-1.westeurope.azurecontainerapps.io", "b.env-1.westeurope.azurecontainerapps.io"),
        ("vercel.com", "api.vercel.com"),
        ("login.school.de", "api.school.de"),
        ("login.us.asso.fr", "api.us.asso.fr"),
        ("same.pages.dev", "same.pages.dev"),
    ],
)
def test_hosts_of_one_owner_belong_together(one: str, other: str) -> None:
    assert belong_together(f"https://{one}/authorize", f"https://{other}/token")


@each(
    ("one", "other"),
    [
        ("honest.v.workers.dev", "evil.a.workers.dev"),
        ("honest.pages.dev", "evil.pages.dev"),
        ("honest.vercel.app", "evil.vercel.app"),
        ("honest-uc.a.run.app", "evil-uc.a.run.app"),
        ("honest-1.europe-west1.run.app", "evil-2.europe-west1.run.app"),
        ("honest.azurewebsites.net", "evil.azurewebsites.net"),
        ("a.env-1.westeurope.azurecontainerapps.io", "a.env-2.westeurope.azurecontainerapps.io"),
        ("honest.fly.dev", "evil.fly.dev"),
        ("honest.onrender.com", "evil.onrender.com"),
        ("honest.herokuapp.com", "evil.herokuapp.com"),
        ("honest.github.io", "evil.github.io"),
        ("honest.netlify.app", "evil.netlify.app"),
        ("a1.execute-api.us-east-1.amazonaws.com", "b2.execute-api.us-east-1.amazonaws.com"),
        ("signin.amazonaws.com", "b2.execute-api.us-east-1.amazonaws.com"),
        ("b2.execute-api.us-east-1.amazonaws.com", "signin.amazonaws.com"),
        ("honest-8080.euw.devtunnels.ms", "evil-8080.euw.devtunnels.ms"),
        ("honest.m.pipedream.net", "evil.m.pipedream.net"),
        ("honest.lhr.life", "evil.lhr.life"),
        ("honest.cloudflareaccess.com", "evil.cloudflareaccess.com"),
        ("honest.us.auth0.com", "evil.us.auth0.com"),
        ("honest.co.uk", "evil.co.uk"),
        ("honest.asso.fr", "evil.asso.fr"),
        ("honest.gouv.fr", "evil.gouv.fr"),
        ("honest.blog.br", "evil.blog.br"),
        ("honest.firm.in", "evil.firm.in"),
        ("honest.school.nz", "evil.school.nz"),
        ("honest.tokyo.jp", "evil.tokyo.jp"),
        ("honest.example", "evil.example"),
        ("10.0.0.1", "20.0.0.1"),
    ],
)
def test_hosts_of_different_customers_of_a_hoster_do_not(one: str, other: str) -> None:
    assert not belong_together(f"https://{one}/authorize", f"https://{other}/token")
