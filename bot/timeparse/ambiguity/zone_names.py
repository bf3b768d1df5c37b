"""Names of places and zones beside a time of day: "Paris time", 北京时间.

Synonyms are separated by `/`. Latin names are compared without case and accents.
"""

PLACES = (
    "london/londres/londra/londyn/londen/paris/parigi/parijs/paryz/madrid/barcelona/rome/rom/roma/rzym/"
    "berlin/berlino/berlim/berlijn/munich/munchen/frankfurt/hamburg/cologne/vienna/wien/vienne/viena/zurich/zurigo/"
    "geneva/genf/geneve/milan/mailand/milano/lisbon/lissabon/lisbonne/lisboa/lisbona/brussels/brussel/bruxelles/"
    "amsterdam/copenhagen/kopenhagen/stockholm/oslo/helsinki/warsaw/warschau/varsovie/varsovia/warszawa/prague/prag/"
    "praha/budapest/athens/athen/athenes/atenas/istanbul/kiev/kyiv/kiew/moscow/moskau/moscou/moscu/mosca/moskwa/"
    "dublin/edinburgh/new york/nueva york/nova york/nova iorque/nowy jork/boston/washington/washington dc/chicago/"
    "miami/dallas/houston/atlanta/denver/los angeles/san francisco/san diego/las vegas/seattle/portland/phoenix/"
    "toronto/montreal/vancouver/mexico/mexico city/ciudad de mexico/bogota/lima/santiago/buenos aires/caracas/havana/"
    "la habana/sao paulo/san pablo/rio/rio de janeiro/brasilia/tokyo/tokio/toquio/osaka/seoul/beijing/peking/pekin/"
    "pechino/pequim/shanghai/shenzhen/hong kong/hongkong/taipei/singapore/singapur/singapour/bangkok/hanoi/jakarta/"
    "manila/mumbai/bombay/delhi/new delhi/neu delhi/bangalore/kolkata/chennai/karachi/dubai/abu dhabi/riyadh/doha/"
    "tel aviv/jerusalem/cairo/kairo/le caire/el cairo/lagos/nairobi/johannesburg/cape town/kapstadt/sydney/melbourne/"
    "brisbane/perth/auckland/wellington/honolulu/hawaii/greenwich/"
    "us/usa/uk/uae/eu/europe/england/great britain/britain/ireland/germany/deutschland/france/spain/italy/portugal/"
    "poland/russia/turkey/india/china/japan/korea/australia/california/texas/florida/ny/nyc/la/sf/"
    "british/english/irish/german/french/spanish/italian/portuguese/dutch/swiss/austrian/polish/russian/turkish/"
    "indian/chinese/japanese/korean/australian/american/canadian/mexican/brazilian/european/central european/"
    "eastern european/western european/eastern/east coast/central/mountain/pacific/west coast/atlantic/alaska/alaskan/"
    "hawaiian/local/universal/coordinated universal/zulu/"
    "deutsch/franzosisch/englisch/britisch/spanisch/italienisch/amerikanisch/japanisch/chinesisch/russisch/"
    "turkisch/indisch/europaisch/mitteleuropaisch/osteuropaisch/westeuropaisch/lokal/ortlich/"
    "nederlands/londens/amsterdams/parijs/berlijns/plaatselijk"
)
ADJECTIVES_AFTER_HOUR = (
    "française/parisienne/anglaise/londonienne/britannique/allemande/espagnole/italienne/portugaise/suisse/belge/"
    "europeenne/russe/chinoise/japonaise/indienne/americaine/canadienne/quebecoise/new yorkaise/locale/universelle/"
    "espanola/peninsular/canaria/insular/local/mexicana/argentina/chilena/colombiana/peruana/inglesa/britanica/"
    "alemana/francesa/italiana/portuguesa/europea/rusa/china/japonesa/americana/"
    "inglese/tedesca/francese/spagnola/portoghese/europea/russa/cinese/giapponese/americana/universale/"
    "brasileira/brasileiro/portugues/alema/alemao/ingles/oficial/utc/gmt"
)
"""After "heure", "hora", "ora": "heure française"."""
NOT_PLACES = "easter/island/navajo/louisville/center/north/south/west/east/general"
"""Zone names that are ordinary words before "time"."""
CHINESE = (
    "北京|上海|香港|台北|台灣|台湾|东京|東京|首尔|首爾|新加坡|曼谷|孟买|德里|迪拜|莫斯科|伦敦|倫敦|巴黎|柏林|罗马|羅馬|马德里|"
    "馬德里|纽约|紐約|芝加哥|洛杉矶|洛杉磯|旧金山|舊金山|华盛顿|華盛頓|多伦多|多倫多|温哥华|溫哥華|悉尼|墨尔本|墨爾本|"
    "美国|美國|美东|美東|美西|美国东部|美国西部|美国中部|東部|东部|西部|太平洋|英国|英國|法国|法國|德国|德國|欧洲|歐洲|中欧|日本|韩国|韓國|"
    "中国|中國|澳洲|印度|俄罗斯|格林威治|格林尼治|格林威治标准|世界|世界协调|当地|當地|本地"
)
JAPANESE = (
    "日本|東京|現地|米国|米国東部|米国西部|東部|西部|太平洋|中国|北京|韓国|ソウル|ロンドン|パリ|ベルリン|ローマ|マドリード|"
    "ニューヨーク|シカゴ|ロサンゼルス|サンフランシスコ|ハワイ|シドニー|シンガポール|モスクワ|イギリス|フランス|ドイツ|アメリカ|"
    "ヨーロッパ|中央ヨーロッパ|グリニッジ|世界|協定世界"
)
KOREAN = (
    "한국|서울|일본|도쿄|중국|베이징|북경|상하이|홍콩|대만|싱가포르|방콕|인도|두바이|모스크바|런던|영국|파리|프랑스|베를린|독일|"
    "로마|이탈리아|마드리드|스페인|유럽|뉴욕|미국|미국 동부|미국 서부|동부|서부|태평양|시카고|로스앤젤레스|"
    "샌프란시스코|하와이|시드니|호주|그리니치|세계|현지"
)
HINDI = "भारतीय|भारत|लंदन|पेरिस|बर्लिन|न्यूयॉर्क|न्यूयार्क|दुबई|टोक्यो|टोकियो|सिडनी|अमेरिकी|ब्रिटिश|जापानी|चीनी|स्थानीय"
RUSSIAN_PLACES = (
    "москв|мск|киев|минск|лондон|париж|берлин|рим|мадрид|варшав|прага|праге|стамбул|дуба|токио|пекин|сеул|нью-йорк|"
    "нью йорк|вашингтон|чикаго|лос-анджелес|гринвич|екатеринбург|новосибирск|владивосток|самар|ташкент|тбилиси"
)
"""Prefixes of these names: "по Москве"."""
