# SPDX-License-Identifier: Apache-2.0
"""Sentences with what a splitter may stumble over, by language, for make_splits.py. Slots as in
text_templates.py."""

PROSE = {
    "en": [
        "'Tis the season, isn't it?", "We'd've come at 10 p.m. if it weren't for the U.S. election.",
        "The box is 20cm x 30cm and weighs 5kg.", "It was 20°C. Nobody complained.", "He lives at No. 5, St. James St.",
        "Visit www.example.org/a.html or mail me@example.com.", "J. R. Smith and Dr. W. Brown (Ph.D.) agreed.",
        "She said, \"Don't!\" Then she left...", "Wait… what?!", "The Fed's rate is 5.25%.", "O'Neil's dog ain't mine.",
        "Version 2.0.1 came out in Jan. 2020, i.e. last year.", "He ran 10km. She ran 12.", "Prices (e.g. $5.50) rose.",
        "Item (a) is done. Item (b) isn't.", "It's what I'd call well-known – or not.", "NASA. The ESA. And so on.",
        "Mr. and Mrs. Jones vs. the State of N.Y. went on.", "Really? Yes! No.", "I paid 50€. You paid £3.",
        "We'll see, won't we; they're late, aren't they?", "\"Why?\" he asked. 'Because.'", "C++ and C# are languages.",
        "At 5p.m. we met Sen. Hall, Gov. Lee, etc. and dined."],
    "es": [
        "El Sr. Pérez y la Dra. Gómez viven en EE.UU. desde 1999.", "¿Por qué no? ¡Porque no!", "Costó 3.500 €. Era caro.",
        "Véase la pág. 5, núm. 3, etc. y el vol. 2.", "Dijo: «No. Nunca». Y se fue...", "La S.A. cerró ayer.",
        "Nació en el s. V a.C. en Roma.", "Mide 20cm. Pesa 5kg.", "Escriba a me@example.com.", "Llovió (mucho). Luego paró."],
    "fr": [
        "M. Dupont et Mme Roy n'ont rien dit.", "C'est l'eau qu'il m'a donnée aujourd'hui.", "Il pèse 3,5 kg. Et alors ?",
        "« Non. » Oui ! Peut-être…", "Voir p. 5, n° 3, etc. pour la suite.", "La S.N.C.F. est en grève.", "Qu'est-ce que c'est ?"],
    "de": [
        "Das gilt z.B. für Hunde, d.h. auch für deinen.", "Er kam am 3. Mai 2020 gegen 17.30 Uhr.", "Dr. Müller sagte: „Nein.“",
        "Die GmbH. Die AG. Der Rest.", "Es waren ca. 20 Leute da usw. und so fort.", "Ist das so? Ja!", "Das kostet 5,50 €. Na und?"],
    "it": ["L'amico dell'avvocato non c'è.", "Il dott. Rossi abita in v. Roma.", "Perché? Perché sì!", "Vedi pag. 5, ecc. ecc. e basta.", "Sono le 17.30. È tardi..."],
    "pt": ["O Sr. Silva mora na Av. Brasil.", "Por quê? Porque sim!", "Custa 3,50 €. É caro.", "Ver pág. 5, etc. e tal.", "Deu-lhe o livro..."],
    "pl": ["Np. to, tzn. tamto itd. i tak dalej.", "Pan dr. Nowak mieszka przy ul. Długiej 5.", "Dlaczego? Bo tak!", "W 2020 r. było inaczej.", "Kosztuje 5,50 zł. Drogo..."],
    "tr": ["Prof. Dr. Yılmaz geldi vb. gitti.", "Neden? Çünkü öyle!", "Türkiye'nin başkenti Ankara'dır.", "Saat 17.30. Geç oldu...", "T.C. Merkez Bankası açıkladı."],
    "ru": ["А. С. Пушкин родился в 1799 г. в Москве.", "Т.е. так и т.д. и т.п. далее.", "Почему? Потому!", "Цена 5 руб. Дорого...", "Он сказал: «Нет». США. НАТО."],
    "nl": ["'s Morgens regent het, m.a.w. altijd.", "Waarom? Daarom!", "Dhr. Bos woont o.a. in Den Haag.", "Het kost € 5,50. Duur...", "Hij is 1,80m. Zij ook."],
    "cs": ["Např. to, tj. ono atd. a tak dále.", "Proč? Proto!", "V r. 2020 bylo 5. května teplo.", "Ing. Král stojí u č. 5.", "Stojí to 5,50 Kč. Draho..."],
    "ar": ["قال د. أحمد: نعم. ثم ذهب!", "لماذا؟ لأنه تأخر.", "السعر 5.5 دولار. غالٍ...", "كتب الطالب الدرس؛ ثم نام.", "«لا. أبداً». هكذا قال."],
    "hu": ["Dr. Kovács pl. nem jött el stb. és kész.", "Miért? Csak!", "2020. január 5-én történt.", "Kb. 5 kg. Nehéz...", "„Nem.” Igen!"],
    "ko": ["왜 안 왔어요? 몰라요!", "가격은 3.5달러다. 비싸다...", "그는 \"네.\"라고 말했다.", "오늘은 날씨가 좋다. 산책을 가자."],
    "hi": ["डॉ. शर्मा नहीं आए।", "क्यों? पता नहीं!", "कीमत 5.5 रुपये है। महँगा है...", "उसने कहा, \"हाँ।\" फिर चला गया।", "यह पहला है. वह दूसरा है."],
    "zh-cn": ["为什么？因为！", "他说：“好的。”然后走了。", "圆周率是3.14。对吗……", "（见第5页。）今天天气很好，我们去公园吧。"],
    "ja": ["なぜですか？わかりません！", "「はい。」と彼は言った。", "円周率は3.14です。本当…", "（笑）今日は良い天気なので、散歩に行きましょう。"],
}
