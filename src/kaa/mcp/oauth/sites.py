"""Which hosts belong together: those of one domain, and at a hoster those of one customer."""

from itertools import takewhile
from urllib.parse import urlsplit

from kaa.mcp.oauth.second_level import SECOND_LEVEL

# Below these names each customer has a name of their own; `*` is any name. Source: the private part of the Public
# Suffix List (publicsuffix.org) of April 2025, its services that run programs or show pages of customers.
_LISTED = """
    *.awsapprunner.com amplifyapp.com cloudfront.net elasticbeanstalk.com *.elasticbeanstalk.com
    execute-api.*.amazonaws.com execute-api.*.amazonaws.com.cn s3.amazonaws.com s3.*.amazonaws.com
    s3-website.*.amazonaws.com *.elb.amazonaws.com compute-1.amazonaws.com *.compute.amazonaws.com
    adaptable.app alwaysdata.net cleverapps.io cloudns.cc codeberg.page *.code.run *.northflank.app convex.site
    pages.dev r2.dev workers.dev trycloudflare.com deno.dev deno.net deta.app deta.dev duckdns.org dyndns.org no-ip.org
    edgeapp.net edgecompute.app global.ssl.fastly.net encr.app fly.dev framer.app webflow.io wixsite.com
    appspot.com *.r.appspot.com cloudfunctions.net firebaseapp.com *.hosted.app *.run.app web.app
    github.io githubpreview.dev githubusercontent.com gitlab.io glitch.me herokuapp.com hf.space static.hf.space
    azure-api.net azure-mobile.net *.azurecontainer.io azureedge.net azurefd.net azurestaticapps.net
    *.azurestaticapps.net azurewebsites.net blob.core.windows.net cloudapp.net servicebus.windows.net trafficmanager.net
    lovable.app lovableproject.com myshopify.com netlify.app ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev ngrok.io
    notion.site ondigitalocean.app *.digitaloceanspaces.com onrender.com app.render.com *.oraclecloudapps.com
    *.platformsh.site pythonanywhere.com eu.pythonanywhere.com repl.co replit.app id.replit.app replit.dev *.replit.dev
    streamlit.app streamlitapp.com supabase.co supabase.in supabase.net ts.net vercel.app vercel.dev now.sh web.val.run
    zeabur.app clerk.app functions.fnc.*.scw.cloud
"""
# The same, from the manuals of the services: applications, and tenants of services for logins.
_UNLISTED = """
    *.on.aws *.lambda-url.*.on.aws *.azurewebsites.net *.azurecontainerapps.io cloudapp.azure.com *.cloudapp.azure.com
    *.web.core.windows.net up.railway.app modal.run val.run koyeb.app leapcell.dev gradio.live bolt.host surge.sh
    app.github.dev *.gitpod.io webcontainer.io loca.lt *.appdomain.cloud *.scalingo.io fastmcp.app server.smithery.ai
    *.devtunnels.ms m.pipedream.net app.n8n.cloud apify.actor csb.app preview.csb.app *.cloudworkstations.dev
    vusercontent.net kinsta.app sevalla.app sevalla.page manus.space base44.app lhr.life lhr.rocks serveo.net
    a.pinggy.link a.free.pinggy.link share.zrok.io loclx.io cloudflareaccess.com projects.oryapis.com
    customers.stytch.com *.zitadel.cloud logto.app frontegg.com fusionauth.io
    *.amazoncognito.com auth0.com *.auth0.com okta.com oktapreview.com onelogin.com b2clogin.com ciamlogin.com kinde.com
    clerk.accounts.dev authkit.app
"""
_HOSTERS = tuple(tuple(reversed(one.split("."))) for one in f"{_LISTED} {_UNLISTED}".split())


def belong_together(one: str, other: str) -> bool:
    """Whether the hosts of two addresses are the same, or are those of one owner as far as their names say it.

    These end alike in two names, in three below `co.uk`, `asso.fr` and the like, and below the name of a hoster in one
    name more.
    """
    host, another = urlsplit(one).hostname or "", urlsplit(other).hostname or ""
    if host == another:
        return True
    names, others = host.rstrip(".").split(".")[::-1], another.rstrip(".").split(".")[::-1]
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(names, others, strict=False))))
    return shared > max(_suffix_length(names), _suffix_length(others)) and not names[0].isdecimal()


def _suffix_length(names: list[str]) -> int:
    """How many names at the end of a host belong to nobody, or to a hoster."""
    country, second, *_ = (*names, "", "")
    is_nobodys = len(country) == 2 and (0 < len(second) <= 3 or second in SECOND_LEVEL.get(country, ()))
    hosters = (len(one) for one in _HOSTERS if _is_below(names, one))
    return max((2 if is_nobodys else 1, *hosters))


def _is_below(names: list[str], hoster: tuple[str, ...]) -> bool:
    return len(names) >= len(hoster) and all(known in (name, "*") for known, name in zip(hoster, names, strict=False))
