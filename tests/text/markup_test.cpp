// SPDX-License-Identifier: Apache-2.0
#include "text/markup.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::markup_test {
namespace {

// "400|Hello.|en": the pause before a span, its words, its language, and where they are not the
// request's also voice and rate. A line for each, and the pause at the end.
std::string told(const MarkedText& text) {
  std::string lines;
  for (const auto& span : text.spans) {
    lines += fmt::format("{}|{}|{}", span.pause_ms, span.text, language_code(span.language));
    if (!span.voice.empty()) lines += "|voice " + span.voice;
    if (span.rate != 1.0) lines += fmt::format("|rate {:.3g}", span.rate);
    lines += "\n";
  }
  return lines + std::to_string(text.pause_ms);
}

std::string read(const std::string& text, Language language = Language::En) {
  return told(read_marked_text(text, language, "--text"));
}

std::string ssml(const std::string& inside, Language language = Language::En) {
  return read("<speak>" + inside + "</speak>", language);
}

std::string fault_of(const std::string& text) {
  try {
    return read(text);
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(Marks, PlainTextIsOneSpan) {
  EXPECT_EQ(read("Hello,\n world. 1 < 2 & more [laughs] [pauses]"),
            "0|Hello,\n world. 1 < 2 & more [laughs] [pauses]|en\n0");
  EXPECT_EQ(read("  "), "0");
}

// What a text begins with is looked at byte by byte, and a letter may have several.
TEST(Marks, TextsOfEveryScriptAreRead) {
  EXPECT_EQ(read("a\u0633\u0644\u0627\u0645", Language::Fa), "0|a\u0633\u0644\u0627\u0645|fa\n0");
  EXPECT_EQ(read("\u4f60\u597d\u5417", Language::Zh), "0|\u4f60\u597d\u5417|zh-cn\n0");
  EXPECT_EQ(read("abcd\u4f60", Language::Zh), "0|abcd\u4f60|zh-cn\n0");
}

TEST(Marks, PausesStandBeforeWhatFollowsThem) {
  EXPECT_EQ(read("One.[pause]Two. [pause 250ms] Three.[pause 1.5s]"),
            "0|One.|en\n400|Two.|en\n250|Three.|en\n1500");
  EXPECT_EQ(read("[pause 1s][Pause 200ms]One"), "1200|One|en\n0");
  EXPECT_EQ(read("a [pause for breath] b [pause"), "0|a [pause for breath] b [pause|en\n0");
}

TEST(Marks, AWrongPauseIsNamedWithItsPlace) {
  EXPECT_EQ(fault_of("é one\n two [pause 5] three"),
            "--text, line 2, column 6: [pause 5] is not a pause of up to 60 seconds; write [pause "
            "500ms] or [pause 1.5s].");
  EXPECT_EQ(fault_of("é[pause 61s]").substr(0, 24), "--text, line 1, column 2");
  EXPECT_EQ(fault_of("a[pause 40s][pause 40s]b").substr(0, 25), "--text, line 1, column 13");
  EXPECT_EQ(fault_of("Hi <break time='1s'/> there"),
            "--text, line 1, column 4: <break> is SSML; put the whole text into "
            "<speak>...</speak>.");
  EXPECT_EQ(
      fault_of("<Speak>Hi.</Speak>"),
      "--text, line 1, column 1: <Speak> is not known; there are speak, p, s, break, prosody, "
      "lang, voice, sub, say-as.");
}

TEST(Ssml, ParagraphsAndSentencesAreSpansOfTheirOwn) {
  EXPECT_EQ(ssml("<p><s>One.</s><s>Two.</s></p>\n<p>Three.</p>"),
            "0|One.|en\n0|Two.|en\n700|Three.|en\n0");
  EXPECT_EQ(ssml("A &lt; B &#228; <!-- not said --> C"), "0|A < B ä C|en\n0");
}

TEST(Ssml, BreaksArePausesOfTheirTimeOrStrength) {
  EXPECT_EQ(ssml("a<break/>b<break time='250ms'/>c<break time=\"1.5s\"/>d<break "
                 "strength='x-strong'/>e<break strength='none'/>f"),
            "0|a|en\n400|b|en\n250|c|en\n1500|d|en\n1000|e|en\n0|f|en\n0");
  EXPECT_EQ(ssml("a<break time='3s'/>"), "0|a|en\n3000");
  // The longer of the two: silence between paragraphs, and what was asked for.
  EXPECT_EQ(ssml("<p>a</p><p>b</p>"), "0|a|en\n700|b|en\n0");
}

TEST(Ssml, RatesMultiplyAndEndWithTheirElement) {
  EXPECT_EQ(ssml("a <prosody rate='fast'>b <prosody rate='50%'>c</prosody> d</prosody> e"),
            "0|a|en\n0|b|en|rate 1.25\n0|c|en|rate 0.625\n0|d|en|rate 1.25\n0|e|en\n0");
  EXPECT_EQ(ssml("<prosody rate='+20%'>a</prosody><prosody rate='-20%'>b</prosody><prosody "
                 "rate='1.5'>c</prosody>"),
            "0|a|en|rate 1.2\n0|b|en|rate 0.8\n0|c|en|rate 1.5\n0");
}

TEST(Ssml, LanguageAndVoiceHoldWithinTheirElement) {
  EXPECT_EQ(ssml("Say <lang xml:lang='fr-FR'>bonjour</lang> to <voice name='anna'>me</voice>."),
            "0|Say|en\n0|bonjour|fr\n0|to|en\n0|me|en|voice anna\n0|.|en\n0");
  EXPECT_EQ(read("<?xml version='1.0'?>\n<speak version='1.1' xml:lang='de-DE' "
                 "xmlns='http://www.w3.org/2001/10/synthesis'>Ja</speak>"),
            "0|Ja|de\n0");
}

TEST(Ssml, WhatIsSaidInAnotherWayStaysInItsSentence) {
  EXPECT_EQ(ssml("The <sub alias='World Wide Web'>WWW</sub> is old."),
            "0|The World Wide Web is old.|en\n0");
  EXPECT_EQ(ssml("<say-as interpret-as='characters'>ABC</say-as>, <say-as "
                 "interpret-as='ordinal'>3</say-as>, <say-as interpret-as='cardinal'>12</say-as>, "
                 "<say-as interpret-as='telephone'>555-01</say-as>"),
            "0|A B C, third, 12, five five five, zero one|en\n0");
  EXPECT_EQ(ssml("<say-as interpret-as='digits'>12</say-as>", Language::De), "0|eins zwei|de\n0");
  EXPECT_EQ(ssml("<say-as interpret-as='digits'>12</say-as>", Language::Zh), "0|1 2|zh-cn\n0");
}

TEST(Ssml, WhatCannotBeFollowedIsAnErrorWithItsPlace) {
  EXPECT_EQ(
      fault_of("<speak>one\n  <audio src='x'/></speak>"),
      "--text, line 2, column 3: <audio> is not known; there are speak, p, s, break, prosody, "
      "lang, voice, sub, say-as.");
  EXPECT_EQ(fault_of("\n<speak><prosody pitch='high'>a</prosody></speak>"),
            "--text, line 2, column 8: \"pitch\" of <prosody> cannot be followed; it takes rate.");
  EXPECT_EQ(fault_of("<speak><break time='5'/></speak>"),
            "--text, line 1, column 8: \"5\" is not a pause of up to 60 seconds, such as 500ms or "
            "1.5s.");
  EXPECT_EQ(fault_of("<speak><p>a</speak>"),
            "--text, line 1, column 14: this is not XML: mismatched tag.");
  EXPECT_EQ(fault_of("<speak>a"), "--text, line 1, column 9: this is not XML: no element found.");
  EXPECT_EQ(fault_of("<speak><voice>a</voice></speak>"),
            "--text, line 1, column 8: the attribute \"name\" is missing.");
  EXPECT_EQ(fault_of("<speak><lang xml:lang='klingon'>a</lang></speak>"),
            "--text, line 1, column 8: \"klingon\" is no language; write a code such as en or "
            "pt-BR.");
  EXPECT_EQ(fault_of("<speak><sub alias='b'><p>a</p></sub></speak>"),
            "--text, line 1, column 23: <p> stands in <sub>, which takes words alone.");
  EXPECT_EQ(fault_of("<speak><speak/></speak>"),
            "--text, line 1, column 8: <speak> stands in another element; it is the outermost "
            "alone.");
  EXPECT_EQ(fault_of("<speaker/>"),
            "--text, line 1, column 1: <speaker> is not known; there are speak, p, s, break, "
            "prosody, lang, voice, sub, say-as.");
  for (const char* wrong :
       {"<prosody rate='9'>a</prosody>", "<prosody rate='quick'>a</prosody>",
        "<prosody>a</prosody>", "<break strength='long'/>", "<break>a</break>",
        "<say-as interpret-as='date'>1/2</say-as>", "<say-as interpret-as='ordinal'>x</say-as>",
        "<say-as>a</say-as>", "<sub>a</sub>", "<p/><break time='40s'/><break time='40s'/>"}) {
    EXPECT_NE(fault_of("<speak>" + std::string(wrong) + "</speak>").find("line 1, column "),
              std::string::npos)
        << wrong;
  }
}

// Neither the memory nor the time of anybody.
TEST(Ssml, EntitiesAndDepthAreRefused) {
  EXPECT_EQ(
      fault_of("<?xml version='1.0'?><!DOCTYPE speak [<!ENTITY a 'aaaa'>]><speak>&a;</speak>"),
      "--text, line 1, column 38: a DOCTYPE is not read; leave it out.");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<p>";
  EXPECT_NE(fault_of("<speak>" + deep).find("more than 64 elements within one another"),
            std::string::npos);
}

}  // namespace
}  // namespace myxtts::markup_test
