"""Names below the domains of countries that belong to nobody, such as `asso.fr`: anybody registers names below them.

Source: the ICANN part of the Public Suffix List (publicsuffix.org) of October 2026, all names of four and more letters
but those of places in Italy, Norway, Poland and Vietnam. Shorter ones, such as `co.uk`, are known by their length.
"""

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
