; Components, which begin with a capital letter; others are elements of the page

(jsx_opening_element name: (identifier) @name (#match? @name "^[A-Z]")) @reference.class
(jsx_opening_element name: (member_expression property: (property_identifier) @name)) @reference.member
(jsx_self_closing_element name: (identifier) @name (#match? @name "^[A-Z]")) @reference.class
(jsx_self_closing_element
  name: (member_expression property: (property_identifier) @name)) @reference.member
(jsx_closing_element name: (identifier) @ignore)
(jsx_expression (identifier) @name) @reference.value
