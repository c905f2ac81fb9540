"""Makes render.json: templates rendered by transformers 5.23 with Jinja2 3.1.6.

    python make.py

The clock stands at 2026-01-02 03:04:05.
"""
import datetime as real
import json
import transformers.utils.chat_template_utils as hf


class Fixed(real.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 3, 4, 5)


hf.datetime = Fixed

TOOLS = [
    {"type": "function", "function": {"name": "get_w", "description": "Get é <weather> & 'x'", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "zeta", "parameters": {"z": 1.5, "a": [], "m": {}, "t": True, "u": None, "q": "\"\\/\n\t\u0001\u2028\x7f"}}},
]
CHATS = {
    "plain": [{"role": "user", "content": "Hi <b> é\n"}],
    "system": [{"role": "system", "content": " Be nice. \n"}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "2+2?"}],
    "think": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYo"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "<think>\nso\n</think>\n\nfour"}],
    "reason": [{"role": "user", "content": "a"}, {"role": "assistant", "reasoning_content": "\nlong\n", "content": "\n\nshort"}],
    "tool": [
        {"role": "system", "content": "S"}, {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "1", "function": {"name": "get_w", "arguments": {"city": "Zürich", "n": 3}}}]},
        {"role": "tool", "name": "get_w", "content": "sunny"}, {"role": "user", "content": "thx"}, {"role": "assistant", "content": "Bye"},
    ],
    "tools": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [{"name": "get_w", "arguments": {"city": "A"}}, {"name": "get_w", "arguments": {"city": "B"}}]},
        {"role": "tool", "content": "sunny"}, {"role": "tool", "content": "rainy"},
    ],
    "late system": [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}, {"role": "assistant", "content": "z"}],
}
RICH = [
    {"type": "function", "function": {"name": "search", "description": " Find things. ", "parameters": {"type": "object", "properties": {
        "query": {"type": "string", "description": "What to find"}, "limit": {"type": "integer", "default": 10}, "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "tags": {"type": "array", "items": {"type": "string"}, "nullable": True}, "ids": {"type": "array", "items": {"type": "integer"}}, "rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": ["string", "null"]}}, "required": ["x"]}},
        "deep": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}}, "any": {"type": "array"}, "one": {"oneOf": [{"type": "string", "default": "s"}, {"type": "number", "description": "count"}]},
        "mixed": {"oneOf": [{"type": "object"}, {"type": "string"}], "default": "z"}, "map": {"type": "object"}, "box": {"type": "object", "properties": {"w": {"type": "number"}, "in": {"type": "object", "properties": {"é": {"type": "boolean"}}}}, "additionalProperties": False}, "what": {}, "null": {"type": "string", "nullable": True},
    }, "required": ["query", "ids"]}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
CHATS |= {
    "parts": [{"role": "system", "content": [{"type": "text", "text": "Be nice."}]}, {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What? "}]}, {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}],
    "steps": [
        {"role": "developer", "content": "D"}, {"role": "user", "content": "Find x"},
        {"role": "assistant", "content": "", "thinking": "I search.", "reasoning_content": "I search.", "tool_calls": [{"type": "function", "function": {"name": "search", "arguments": {"query": "x", "ids": [1, 2], "box": {"w": 1.0, "in": {"é": True}}, "a": None}}}]},
        {"role": "tool", "name": "search", "content": "{\"n\": 1}"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now", "arguments": {}}}]}, {"role": "tool", "content": "noon"},
        {"role": "assistant", "content": "One, at noon.", "thinking": "So.", "reasoning_content": "So."}, {"role": "user", "content": "Thanks"}, {"role": "assistant", "content": "<think>\nBye?\n</think>\n\nBye."},
    ],
    "builtin": [{"role": "user", "content": "Look"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "brave_search", "arguments": {"query": "x", "n": "3"}}}]}, {"role": "ipython", "content": {"b": 1, "a": [2]}}],
    "null content": [{"role": "user", "content": "Look"}, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}, {"role": "tool", "content": "x"}],
    "tool first": [{"role": "tool", "content": "x"}],
    "empty": [],
}
DATA = {"n": None, "s": "Héllo wörld", "xs": [3, 1, 2], "d": {"b": 1, "a": [True, None, 1.0, "x'y"]}, "people": [{"name": "Zoe", "age": 3, "in": {"k": 1}}, {"name": "abe", "age": 5}, {"name": "Bob", "age": 3, "in": {"k": 2}}], "html": "<a href=\"x\">&'"}

SMALL = r"""
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 1.5 + 1 }} {{ 7.0 // 2 }} {{ -7.5 % 2 }} {{ 1e20 }} {{ 1e15 }} {{ 1e16 }} {{ 0.0001 }} {{ 0.00001 }} {{ 123456789.123 }} {{ 1/3 }} {{ 1e2 }} {{ 5 / 1 }}
{{ true + true }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == 1 }} {{ none == false }} {{ [1, 2] == [1, 2.0] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1.0} }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 in xs }} {{ 'x' not in xs }} {{ 'b' in d }} {{ 'ö' in s }} {{ 1 in missing }}
{{ a or 'x' }} {{ xs and 'y' }} {{ not xs }} {{ not not s }} {{ 0 or none }} {{ '' or [] }} {{ 1 and 2 or 3 }}
{{ d }} {{ xs }} {{ (1, 'a') }} {{ (1,) }} {{ () }} {{ {} }} {{ [] }} {{ [none, true, 1.0, "it's", 'q"', '\n\t\\\x00é'] }} {{ {1: 2, 'a': (3,)} }}
{{ xs[0] }} {{ xs[-1] }} {{ xs[5] }} {{ xs.0 }} {{ xs[1:] }} {{ xs[:-1] }} {{ xs[::-1] }} {{ xs[::2] }} {{ xs[5:] }} {{ xs[-2:] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[-1] }} {{ s[10:2:-3] }} {{ xs[10:0:-1] }} {{ (1,2,3)[1:] }}
{{ d.a }} {{ d['b'] }} {{ d.zz }} {{ d['zz'] }} {{ d.get('zz') }} {{ d.get('zz', 4) }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.items()|list }} {{ d.a[3] }}
{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }} {{ s.swapcase() }} {{ 'they\'re bill\'s'.title() }} {{ 'ß'.upper() }} {{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ 'aaa'.replace('', '-') }} {{ s.find('w') }} {{ s.find('zz') }} {{ s.rfind('l') }} {{ s.index('ö') }} {{ s.count('l') }}
{{ ' a  b c '.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ ' a b  c '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a\nb\r\nc'.splitlines() }} {{ 'abc'.partition('b') }} {{ 'abcb'.rpartition('b') }} {{ 'abc'.partition('x') }}
{{ '  x '.strip() }}| {{ '  x '.lstrip() }}| {{ '  x '.rstrip() }}| {{ 'xxaxx'.strip('x') }} {{ 'abcab'.strip('ab') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('bc') }}
{{ ','.join(['a', 'b']) }} {{ 'x'.join('abc') }} {{ 'a'.isdigit() }} {{ '12'.isdigit() }} {{ 'ab1'.isalnum() }} {{ 'AB'.isupper() }} {{ 'ab'.islower() }} {{ ' '.isspace() }} {{ 'ab'.isalpha() }} {{ 'a'.ljust(4) }}| {{ 'a'.rjust(4, '.') }} {{ 'ab'.center(5, '*') }} {{ 'a'.center(4, '*') }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }}
{{ '{} {} {{}}'.format(1, 'a') }} {{ '{0}{1}{0}'.format('x', 'y') }} {{ '{a}-{b}'.format(a=1, b=none) }} {{ '%s %d %5.2f|%-5s|%05d %r %% %x' % ('a', 3, 1.5, 'b', 42, 'q', 255) }} {{ '%s' % 'x' }} {{ '%d items'|format(3) }}
{{ xs|sort }} {{ xs|sort(reverse=true) }} {{ xs|length }} {{ xs|sum }} {{ xs|max }} {{ xs|min }} {{ xs|first }} {{ xs|last }} {{ xs|reverse|list }} {{ s|reverse }} {{ xs|join(', ') }} {{ [1, 2, 1, 'A', 'a']|unique|list }} {{ xs|list }} {{ 'abc'|list }} {{ xs|batch(2)|list }} {{ xs|batch(2, 0)|list }}
{{ people|map(attribute='name')|join('/') }} {{ people|map(attribute='in.k', default=0)|list }} {{ people|sort(attribute='name')|map(attribute='name')|list }} {{ people|sort(attribute='age')|map(attribute='name')|list }} {{ people|selectattr('in')|map(attribute='name')|list }} {{ people|rejectattr('in', 'defined')|map(attribute='name')|list }} {{ people|selectattr('age', '>', 3)|list }} {{ people|sum(attribute='age') }} {{ people|max(attribute='age') }} {{ people|join(',', attribute='age') }}
{{ xs|map('string')|list }} {{ ['a', 'b']|map('upper')|join }} {{ xs|select('odd')|list }} {{ xs|reject('equalto', 1)|list }} {{ [0, 1, '']|select|list }} {{ ['x,y']|map('replace', ',', ';')|list }} {{ [[1, 2], [3]]|map('length')|list }} {{ [[1, 2], [3]]|map('first')|list }} {{ d|dictsort }} {{ d|items|list }} {{ d|length }}
{{ s|upper }} {{ s|lower }} {{ s|title }} {{ 'foo-bar (baz) QUX'|title }} {{ s|capitalize }} {{ html|e }} {{ html|safe }} {{ '  x '|trim }}| {{ 'xax'|trim('x') }} {{ s|replace('l', 'r') }} {{ s|length }} {{ s|wordcount }} {{ 'x'|center(5) }}|
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(2, blank=true) }}|{{ 'a\nb'|indent('> ') }}
{{ '3.7'|int }} {{ 'x'|int }} {{ 'x'|int(5) }} {{ ' 12 '|int }} {{ '1f'|int(base=16) }} {{ 3.9|int }} {{ '2.5'|float }} {{ 'x'|float }} {{ -3|abs }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 42|round }} {{ true|int }}
{{ missing|default('d') }} {{ ''|default('d') }} {{ ''|default('d', true) }} {{ none|default('d') }} {{ none|d('e', true) }} {{ missing }}| {{ missing is defined }} {{ missing|length }} {{ missing|list }} {{ missing|upper }}| {{ missing ~ 'x' }} {{ missing == missing }}
{{ 1 is odd }} {{ 2 is even }} {{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 1 is number }} {{ true is number }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is float }} {{ 's' is string }} {{ xs is iterable }} {{ none is none }} {{ 'A' is upper }} {{ 'a' is lower }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ true is boolean }} {{ 1 is in xs }} {{ 1 is in([1]) }} {{ 2 is eq 2 }} {{ 3 is gt(2) }} {{ xs is sequence }} {{ d is sequence }} {{ d is mapping }} {{ range is callable }} {{ 'upper' is filter }} {{ missing is iterable }} {{ missing is sequence }} {{ 1 is not none }} {{ not 1 is none }} {{ none is sameas none }} {{ 'x' is escaped }}
{% for x in xs %}{{ loop.index }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }}{{ loop.cycle('a', 'b') }}{{ loop.nextitem }}{{ loop.previtem|default('-') }}{{ loop.changed(x > 1) }}{{ loop.depth }};{% endfor %}
{% for x in [] %}a{% else %}empty{% endfor %} {% for x in xs if x > 5 %}{{ x }}{% else %}none{% endfor %} {% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %} {% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for c in 'aé' %}[{{ c }}]{% endfor %} {% for x in missing %}x{% endfor %} {% for x in 1, 2 %}{{ x }}{% endfor %}
{% for x in xs %}{% for y in xs %}{{ loop.index0 }}{{ loop.depth }}{% endfor %}{{ loop.index0 }}{% endfor %} {% for x in xs %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfor %}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }} {% if true %}{% set x = 7 %}{% endif %}{{ x }} {% set a, b = 1, 2 %}{{ a }}{{ b }} {% set (p, q) = [3, 4] %}{{ p }}{{ q }} {% set t = 1, %}{{ t }}
{% set ns = namespace(n=0) %}{% for i in range(5) %}{% set ns.n = ns.n + i %}{% set ns.last = i %}{% endfor %}{{ ns.n }}{{ ns.last }}{{ ns.zz }} {% set e = namespace({'k': 1}, m=2) %}{{ e.k }}{{ e.m }} {{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ dict({'q': 1}, r=2) }}
{% macro m(a, b=2, c=a) %}[{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}]{% endmacro %}{{ m(1) }}{{ m(1, 3, 4, 5, z=6) }}{{ m(b=9, a=0) }}{{ m() }} {% macro rec(n) %}{{ n }}{% if n > 0 %}{{ rec(n - 1) }}{% endif %}{% endmacro %}{{ rec(3) }} {{ m(*[7, 8]) }}{{ m(**{'a': 5}) }}
{% macro w() %}<{{ caller('x') }}>{% endmacro %}{% call(v) w() %}in {{ v }}{% endcall %} {% macro g() %}{{ late }}{% endmacro %}{% set late = 'L' %}{{ g() }} {% set out %}a{{ 1 }}{% set inner = 3 %}{% endset %}{{ out }}{{ inner }} {% set up | upper %}abc{% endset %}{{ up }} {% filter upper | replace('B', 'x') %}abc{% endfilter %} {% with q = 1, r = 2 %}{{ q }}{{ r }}{% endwith %}{{ q }}
{{ 'a' if xs else 'b' }} {{ 'a' if missing else 'b' if none else 'c' }} {{ ('x' if false) is defined }} {{ 'a' ~ 1 ~ none ~ 1.5 ~ [1] }} {{ 1 ~ 2 + 3 ~ 4 }}
{{ 'a' 'b' "c" }} {{ 'é\u00e9\x41\101\q\'' }} {{ "tab\there" }} {{ 0x1F }} {{ 0b11 }} {{ 1_000 }} {{ {'a': {'b': {}}} }} {{ 'ab' * 2 }} {{ [1] * 2 }} {{ 2 * 'ab' }} {{ -3|abs }} {{ (-3)|abs }} {{ 'a,b'.split(',')[1].upper() }} {{ [1, 2][0] }} {{ {'a': [1, 2]}['a'][1] }} {{ 'x'|upper|lower }} {{ d.items()|map('first')|list }}
{{ xs|tojson }} {{ d|tojson }} {{ d|tojson(indent=2) }} {{ s|tojson }} {{ s|tojson(ensure_ascii=true) }} {{ '🙂\x7f'|tojson(ensure_ascii=true) }} {{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ [[], {}, [[]]]|tojson(indent=1) }} {{ none|tojson }} {{ 1.0|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ html|tojson }} {{ (1, 2)|tojson }} {{ d|tojson(indent='--') }}
{{ strftime_now('%d %b %Y %H:%M:%S %A %a %B %j %y %I %p %m %% %-d %e %F %T') }} {{ range(3)|list }} {{ range(1, 10, 4)|list }} {{ range(5, 0, -2)|list }} {{ range(0)|list }}
{% raw %}{{ x }} {% if %}{% endraw %}| {%- raw -%}  y  {%- endraw -%} | {# c {{ x }} #}z
{%- generation %}g{% set gg = 1 %}{% endgeneration %}{{ gg }}é{% generation %}é{{ 1 }}{% endgeneration %} t
{{ people[0].items()|list|length }} {{ people|map(attribute='name')|map('lower')|list }} {{ people|first|tojson }} {{ (people|last).name }} {{ people|selectattr('name', 'in', ['Bob', 'abe'])|map(attribute='age')|sum }} {{ xs|attr('count') is callable }} {{ d|attr('b')|default('no key') }} {{ xs.index(2) }} {{ xs.count(1) }}
{{ '{:>5}|{:<5}|{:^5}|{:*^7}|{:05d}|{:+d}|{: d}|{:x}|{:#X}|{:b}|{:o}|{:,}|{:_}|{:,.2f}|{:=+6d}'.format('ab', 'cd', 'e', 'f', 42, 7, 7, 255, 255, 5, 8, 1234567, 1234567, 1234567.891, 3) }}
{{ '{:.2f}|{:8.3f}|{:e}|{:.3g}|{:g}|{:g}|{:%}|{:.1%}|{:.3}|{:.3}|{:.1}|{:.2}|{}|{:}|{:08.2f}|{:+.1f}|{:010,}|{:f}'.format(3.14159, 2.5, 12345.678, 1234.5, 1e20, 0.0001, 0.25, 0.5, 3.0, 1234.0, 3.0, 12.0, 1.0, 2.0, -3.14159, 2, 12345, 2) }}
{{ '{!r:>8}|{0!s}'.format('q') if false else '{!r:>8}|{!s}|{a.b[c]}|{a[b]}|{0[1]}|{w:{n}}|{{{w}}}'.format('q', 3, a={'b': {'c': 1}}, w='x', n=4) if false else '{0!r:>8}|{1!s}|{a.b[c]}|{a[b]}|{2[1]}|{w:{n}}|{{{w}}}'.format('q', 3, [5, 6], a={'b': {'c': 1}}, w='x', n=4) }}
{{ '{:.2}|{:5.1}|{:s}|{:é>4}|{:d}|{:>5}|{:6}|{:<6}|{:n}'.format('abc', 'xyz', 'q', 'x', true, true, 12, 12, 5) }}
{{ xs|slice(2)|list }} {{ [1,2,3,4,5,6,7]|slice(3, 'x')|list }} {% for g, ps in people|groupby('age') %}{{ g }}:{{ ps|map(attribute='name')|join('+') }};{% endfor %} {{ [{'k': 'b'}, {'k': 'A'}, {'k': 'B'}, {}]|groupby('k', default='a')|list }} {{ [{'k': 'b'}, {'k': 'B'}]|groupby('k', case_sensitive=true)|list }}
{% set g = xs|select('odd') %}{{ 'yes' if g else 'no' }}{{ g|list }}{{ g|list }} {{ 'yes' if []|map('upper') else 'no' }} {% set g = xs|map('string') %}{{ g|first }}{{ g|list }} {% set g = xs|reject('even') %}{{ 1 in g }}{{ g|list }} {{ xs|reverse is sequence }}{{ xs|reverse is iterable }} {% set g = xs|reverse %}{% for x in g %}{{ x }}{{ loop.last }}{% endfor %}{% for x in g %}again{% else %}over{% endfor %} {{ xs|reverse|reverse|list }} {{ (xs|map('string'))[0] is defined }} {{ none|map('upper')|list }}{{ none|selectattr('a')|list }}{{ 0|reject('odd')|list }}{{ d|items is iterable }}{{ xs|unique|list|length }}
{{ '<a>'|safe + html + '"' }} {{ html + '<'|e }} {{ (html|e) + (html|safe) }} {{ '<' + ('>'|safe + '&') + '"' }} {{ '<'|safe ~ html }} {{ html|forceescape + "'" }} {{ ('<'|safe + '>')|upper }} {{ '<'|safe + d|tojson }}
{% for n in [{'v': 1, 'c': [{'v': 2, 'c': [{'v': 3}]}, {'v': 4}]}, {'v': 5}] recursive %}{{ loop.depth }}{{ loop.depth0 }}:{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% if not loop.last %},{% endif %}{% endfor %} {% set q = 9 %}{% for x in [[1, [2]]] recursive %}{% if x is iterable %}[{{ loop(x)|upper }}]{% else %}{{ x }}{{ q }}{% endif %}{% else %}e{% endfor %}
""".strip("\n").split("\n")

WHITESPACE = [
    "a\n  {%- if true -%}\n  b\n  {%- endif %}\n\n  {% if true %}\nc\n  {% endif %}\nd {{- 'e' -}} f\n", "  {% if true %}  x  {% endif %}  \n", "\n\n{% if true %}\n\na\n{% endif %}\n\n", "x {# c #}\n y", "  {# c #}\n  {#- d -#}\n  z\n",
    "  {%+ if true %}a{% endif +%}\nb", "{{ 1 }}\n{{ 2 }}\n\n", "a\r\nb\rc\r\n", "{% if true %}\r\nx{% endif %}", "{%- if true %}\n    {{- 'a' }}\n    {{ 'b' -}}\n{%- endif -%}\n end", "\t{% if true %}\ty{% endif %}", "a {% if true %} b\n {% endif %} c", "{# a #}{# b #}\n{# c #}\nx",
    "  {{ 1 }}\n  {% if true %}{{ 2 }}{% endif %}\n", "{{ 1 }}  {% if true %}\n2{% endif %}", "{%- set x = 1 -%}\n\n {{ x }}\n\n", "\u00a0{% if true %}x{% endif %}", "a\u2003{%- if true %}x{% endif -%}\u2003b", "{% raw %}\n a\n {% endraw %}\nb", "{%raw%} {{ {%endraw%}", "{#-#}x{#- -#} y", "{{ '}}' }}{{ {'a': '%}'} }}", "{{-1}} {{ -1 }} {{+1}}", "{%for x in [1,2]%}{{x}}{%endfor%}", "", "\n", "{", "{ {", "a{%if true%}\n\n{%endif%}",
]

ERRORS = [
    "{{ raise_exception('boom') }}", "\n\n{{ missing.x }}", "{{ missing + 1 }}", "{{ 1 + 'a' }}", "{{ xs.append(1) }}", "{{ d.update({}) }}", "{% for x in 3 %}{% endfor %}", "{{ 1 / 0 }}", "{{ missing() }}", "{{ none.x.y }}", "{{ missing|tojson }}", "{% if true %}", "{% endif %}", "{{ 1 +", "{{ 'a }}", "{% foo %}", "{{ x is nosuchtest }}",
    "{{ x|nosuchfilter }}", "{% set a, b = [1] %}", "{{ range(1000000) }}", "{% set d.x = 1 %}", "{# open", "{% raw %}x", "{{ [1, 2 }}", "{{ 'a' < 1 }}", "{{ 5|length }}", "{{ 1 in 5 }}", "{{ d[[1]] }}|{{ {[1]: 2} }}", "{{ 'a' * 'b' }}", "{% break %}", "{{ f(a=1, 2) }}", "{{ 1 in 'a' }}", "{% macro m(a=1, b) %}{% endmacro %}", "{{ '%d' % 'a' }}", "{{ '%s %s' % 'a' }}", "{{ 1 2 }}", "{{ }}", "{% if %}{% endif %}", "{% for in x %}{% endfor %}", "{{ a.b.c }}", "{{ -'a' }}", "{% set true = 1 %}",
    "{{ xs|map('string')|length }}", "{{ xs|select('odd')|tojson }}", "{{ xs|map('string')|last }}", "{{ (xs|reverse)[:1] }}", "{{ 3|map('string')|list }}", "{{ xs|items|list }}", "{{ '{:d}'.format('a') }}", "{{ '{:s}'.format(1) }}", "{{ '{:.2d}'.format(1) }}", "{{ '{:>5}'.format(none) }}", "{{ '{:q}'.format(1) }}", "{{ '{'.format(1) }}", "{{ '}'.format(1) }}", "{{ '{!z}'.format(1) }}", "{{ '{:.}'.format(1.0) }}", "{{ '{x}'.format(1) }}", "{{ '{1}'.format(1) }}", "{% for x in [[1]] %}{{ loop(x) }}{% endfor %}", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{{ '{a.}'.format(a=1) }}", "{{ '{a[}'.format(a=1) }}",
]


def render(template, ctx):
    compiled = hf._compile_jinja_template(template)
    text, spans = hf._render_with_assistant_indices(compiled, ctx.pop("messages", []), ctx.pop("tools", None), None, ctx.pop("add_generation_prompt", False), **ctx)
    return text, [[len(text[:a].encode()), len(text[:b].encode())] for a, b in spans]


def case(name, ctx, template=None, file=None):
    c = {"name": name, "ctx": ctx}
    c.update({"file": file} if file else {"template": template})
    text = template if template is not None else open(file, newline="").read()
    try:
        c["out"], spans = render(text, json.loads(json.dumps(ctx)))
        if spans:
            c["spans"] = spans
    except Exception as e:
        c["error"] = type(e).__name__ + ": " + str(e)
    return c


cases = []
EXTRAS = [{}, {"add_generation_prompt": True}, {"tools": TOOLS}, {"add_generation_prompt": True, "enable_thinking": False}, {"add_generation_prompt": True, "enable_thinking": True, "tools": TOOLS, "tools_in_user_message": False}]
MORE = [{}, {"tools": RICH, "add_generation_prompt": True}, {"builtin_tools": ["brave_search", "code_interpreter", "python"], "reasoning_effort": "high", "model_identity": "I am.", "date_string": "1 Jan 2026"}]
for file in ["llama32.jinja", "qwen25.jinja", "qwen3.jinja", "generation.jinja", "llama31.jinja", "gemma3.jinja", "gptoss.jinja", "coder.jinja"]:
    for name, chat in CHATS.items():
        for extra in EXTRAS[3:4] + MORE if file in ("llama31.jinja", "gemma3.jinja", "gptoss.jinja", "coder.jinja") else EXTRAS[:1] + MORE[1:2] if name in list(CHATS)[7:] else EXTRAS:
            cases.append(case(f"{file} {name} {' '.join(extra)}", {"messages": chat, "bos_token": "<s>", "eos_token": "</s>", **extra}, file=file))
for i, line in enumerate(SMALL):
    cases.append(case(f"small {i}", DATA, template=line))
for i, text in enumerate(WHITESPACE):
    cases.append(case(f"space {i}", DATA, template=text))
for i, text in enumerate(ERRORS):
    cases.append(case(f"error {i}", DATA, template=text))
with open("render.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
print(len(cases), sum("error" in c for c in cases))
