"""Which hosts belong together: those of one domain, and at a hoster those of one customer.

Names below the domains of countries that belong to nobody, such as `asso.fr`, are from the ICANN part of the Public
Suffix List (publicsuffix.org) of October 2026: all names of four and more letters but those of places in Italy, Norway,
Poland and Vietnam. Shorter ones, such as `co.uk`, are known by their length.
"""

from itertools import takewhile
from urllib.parse import urlsplit

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
_NAMES = """
    am: commune
    ar: coop musica mutual senasa
    au: conf
    az: info name
    bb: info store
    bd: info
    bj: africa agro architectes assur avocats econo info loisirs money restaurant resto tourism univ
    bo: academia agro arte blog bolivia ciencia cooperativa democracia deporte ecologia economia empresa indigena
        industria info medicina movimiento musica natural nombre noticias patria plurinacional politica
        profesional pueblo revista salud tecnologia tksat transporte wiki
    br: 9guacu anani aparecida barueri belem blog boavista campinagrande campinas caxias contagem coop cuiaba
        curitiba feira flog floripa fortal goiania jampa joinville leilao londrina macapa maceio manaus maringa
        morena natal niteroi osasco palmas radio recife ribeirao riobranco riopreto salvador sampa santamaria
        santoandre saobernardo saogonca social sorocaba taxi vlog wiki
    ci: asso gouv xn--aroport-bya
    cv: nome publ
    cy: ekloges press
    dz: asso
    ec: agron arqt chef cont dent disco info mktg odont prof psic psiq rrpp tech
    ee: riik
    eg: info name sport
    et: info name
    fi: aland
    fj: info name
    fr: asso avoues gouv greta huissier-justice
    ge: online school
    gp: asso mobi
    gu: guam info
    hr: from name
    ht: adult asso coop firm gouv info perso shop
    hu: 2000 agrar bolt casino city erotica erotika film forum games hotel info ingatlan jogasz konyvelo lakas
        media news priv reklam shop sport suli szex tozsde utazas video
    id: desa ponpes
    il: muni
    in: aero alumni bank bihar business coop delhi firm gujarat info internet post school travel
    ir: xn--mgba3a4f16a xn--mgba3a4fra
    jo: agri
    jp: aichi akita aomori chiba ehime fukui fukuoka fukushima gifu gunma hiroshima hokkaido hyogo ibaraki
        ishikawa iwate kagawa kagoshima kanagawa kochi kumamoto kyoto miyagi miyazaki nagano nagasaki nara niigata
        oita okayama okinawa osaka saga saitama shiga shimane shizuoka tochigi tokushima tokyo tottori toyama
        wakayama yamagata yamaguchi yamanashi
    ke: info mobi
    ki: info
    km: asso coop gouv medecin notaires pharmaciens presse veterinaire
    kr: busan chungbuk chungnam daegu daejeon gangwon gwangju gyeongbuk gyeonggi gyeongnam incheon jeju jeonbuk
        jeonnam seoul ulsan
    la: info
    lk: assn hotel
    ls: info
    lv: conf
    ma: press
    mc: asso
    me: priv
    mk: name
    ml: asso gouv info inst presse
    mv: aero coop info museum name
    mw: coop
    my: name
    nc: asso
    nf: arts firm info other store
    ng: mobi name
    ni: info
    nr: info
    nz: geek govt health kiwi maori parliament school xn--mori-qsa
    om: museum
    pl: agro auto gmina info mail media nieruchomosci powiat realestate shop sklep targi tourism travel turystyka
    pr: info isla name prof
    pt: nome publ
    py: coop
    qa: name
    re: asso
    ro: arts firm info store
    rw: coop
    sd: info
    se: brand fhsk komforb kommunalforbund komvux lanbib naturbruksgymn parti press
    sn: gouv univ
    st: consulado embaixada principe saotome store
    tj: name test
    tn: info intl mincom perso tourism
    tr: info name
    tt: info name
    tw: club ebiz game
    tz: hotel info mobi
    ua: cherkassy cherkasy chernigov chernihiv chernivtsi chernovtsy crimea dnepropetrovsk dnipropetrovsk donetsk
        ivano-frankivsk kharkiv kharkov kherson khmelnitskiy khmelnytskyi kiev kirovograd kropyvnytskyi krym kyiv
        lugansk luhansk lutsk lviv mykolaiv nikolaev odesa odessa poltava rivne rovno sebastopol sevastopol sumy
        ternopil uzhgorod uzhhorod vinnica vinnytsia volyn yalta zakarpattia zaporizhzhe zaporizhzhia zhitomir
        zhytomyr
    uk: police
    ve: arts emprende firm info store
    vn: health info name
    za: agric grondar school
    zm: info
"""


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


def _read() -> dict[str, frozenset[str]]:
    found: dict[str, list[str]] = {}
    country = ""
    for word in _NAMES.split():
        if word.endswith(":"):
            country = word[:-1]
        else:
            found.setdefault(country, []).append(word)
    return {country: frozenset(names) for country, names in found.items()}


SECOND_LEVEL = _read()


"""By the domain of the country."""
